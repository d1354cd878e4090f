// SPDX-License-Identifier: Apache-2.0

//go:build linux

package losses

import (
	"fmt"
	"time"
)

// Since is a time, or a time before now. The zero value is no limit.
type Since struct {
	at  time.Time
	ago time.Duration
}

// clockForms are how a time can be written, in the zone of this host.
var clockForms = []string{"15:04", "15:04:05", time.DateOnly, "2006-01-02 15:04", time.DateTime, "2006-01-02T15:04", "2006-01-02T15:04:05"}

// UnmarshalText reads 10m, 15:04, 2026-11-23, 2026-11-23 15:04 or RFC 3339.
func (s *Since) UnmarshalText(text []byte) error {
	if ago, err := time.ParseDuration(string(text)); err == nil && ago > 0 {
		*s = Since{ago: ago}
		return nil
	}
	if at, err := time.Parse(time.RFC3339, string(text)); err == nil {
		*s = Since{at: at}
		return nil
	}
	for i, form := range clockForms {
		at, err := time.ParseInLocation(form, string(text), time.Local)
		if err != nil {
			continue
		}
		if i < 2 { // without a day: today
			now := time.Now()
			at = time.Date(now.Year(), now.Month(), now.Day(), at.Hour(), at.Minute(), at.Second(), 0, time.Local)
		}
		*s = Since{at: at}
		return nil
	}
	return fmt.Errorf("%q is no time: want 10m (ago), 15:04 (today), 2026-11-23, 2026-11-23 15:04, or RFC 3339", text)
}

// from returns the time, or the zero time if there is no limit.
func (s Since) from(now time.Time) time.Time {
	if s.ago > 0 {
		return now.Add(-s.ago)
	}
	return s.at
}
