// SPDX-License-Identifier: Apache-2.0

package rec

import (
	"fmt"
	"strings"
	"time"

	"tagbus/internal/sanitize"
	"tagbus/recording"
)

// problem is why files do not have all of a span of time.
type problem struct {
	text  string
	atEnd bool // only what comes behind the last record is missing
}

// problems returns why the parts of one recording do not have all from one time to
// another, as far as it is known without reading them. Zero times are no limits.
func problems(parts recording.Readers, from, to time.Time) (found []problem) {
	add := func(atEnd bool, format string, args ...any) {
		found = append(found, problem{sanitize.Linef(format, args...), atEnd})
	}
	for n, r := range parts {
		i := r.Info()
		if i.HeaderDamage != nil {
			add(false, "%v", i.HeaderDamage)
		}
		next := uint32(0)
		if n > 0 {
			next = parts[n-1].Info().Part + 1
		}
		if i.Part > next && (n > 0 || from.IsZero() || from.Before(i.First)) {
			add(false, "%s", partMissing(next, &i))
		}
		if i.Skipped > 0 {
			add(false, "%s: %d bytes between the blocks could not be read", i.File, i.Skipped)
		}
		isLast := n == len(parts)-1
		behind := firstOf(parts[n+1:])
		if !to.IsZero() && !to.After(i.Last) || !from.IsZero() && !behind.IsZero() && !from.Before(behind) {
			continue // what comes behind the last record of the part is not asked for
		}
		switch {
		case isLast && i.Continues:
			add(true, "%s", partMissing(i.Part+1, &i))
		case !i.Indexed || i.Repaired:
			add(isLast, "%s: %s", i.File, whyCut(&i))
		}
	}
	return found
}

// partsMissing says which parts in front of others are not there.
func partsMissing(rs recording.Readers) []string {
	var why missing
	for _, parts := range rs.Recordings() {
		next := uint32(0)
		for _, r := range parts {
			i := r.Info()
			if i.Part > next {
				why.add(partMissing(next, &i))
			}
			next = i.Part + 1
		}
	}
	return why.lines()
}

func partMissing(part uint32, i *recording.Info) string {
	return fmt.Sprintf("part %d of recording %v was not there", part, i.ID)
}

// firstOf returns the time of the first record of parts; zero: there is none.
func firstOf(parts recording.Readers) time.Time {
	for _, r := range parts {
		if first := r.Info().First; !first.IsZero() {
			return first
		}
	}
	return time.Time{}
}

// Stopped is the last event of what is made of recordings: it says how they have ended.
//
//   - why: what is missing in them; none: nothing.
//   - made: how it was made.
func Stopped(at time.Time, why []string, made string) *recording.Event {
	e := &recording.Event{Kind: recording.Stopped, Time: at, Text: made}
	if len(why) > 0 {
		e.Failed, e.Text = true, made+": "+strings.Join(why, "; ")
	}
	return e
}

// blocksMissing says how many blocks could not be read.
func blocksMissing(n uint64) string {
	if n == 1 {
		return "1 block could not be read"
	}
	return fmt.Sprintf("%d blocks could not be read", n)
}
