// SPDX-License-Identifier: Apache-2.0

package units

import (
	"fmt"
	"time"
)

// FormatAge returns a time span in its two largest units: 12s, 3m12s, 5h3m, 2d7h. A
// negative one, as of clocks that differ, is 0s.
func FormatAge(d time.Duration) string {
	s := max(0, int64(d/time.Second))
	switch {
	case s < 60:
		return fmt.Sprintf("%ds", s)
	case s < 60*60:
		return fmt.Sprintf("%dm%ds", s/60, s%60)
	case s < 24*60*60:
		return fmt.Sprintf("%dh%dm", s/(60*60), s/60%60)
	default:
		return fmt.Sprintf("%dd%dh", s/(24*60*60), s/(60*60)%24)
	}
}

// FormatAgo returns how long ago a time was, as 3m12s ago, and "" of the zero time.
func FormatAgo(now, t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return FormatAge(now.Sub(t)) + " ago"
}

// FormatTime returns a time in the zone of this host, as 2026-11-23 19:05:12, and "" of
// the zero time.
func FormatTime(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.Local().Format(time.DateTime)
}
