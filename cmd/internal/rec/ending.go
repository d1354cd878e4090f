// SPDX-License-Identifier: Apache-2.0

package rec

import (
	"fmt"
	"strings"
	"time"

	"tagbus/internal/plain"
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
		found = append(found, problem{plain.Linef(format, args...), atEnd})
	}
	for n, r := range parts {
		i := r.Info()
		next := uint32(0)
		if n > 0 {
			next = parts[n-1].Info().Part + 1
		}
		if i.Part > next && (n > 0 || from.IsZero() || from.Before(i.First)) {
			add(false, "part %d of recording %v was not there", next, i.ID)
		}
		if i.Skipped > 0 {
			add(false, "%s: %d bytes between the blocks could not be read", i.File, i.Skipped)
		}
		if n < len(parts)-1 || !to.IsZero() && !to.After(i.Last) {
			continue
		}
		switch {
		case i.Continues:
			add(true, "part %d of recording %v was not there", i.Part+1, i.ID)
		case !i.Indexed || i.Repaired:
			add(true, "%s: %s", i.File, whyCut(&i))
		}
	}
	return found
}

// stopped is the last event of a recording that is made of others: it says how the others
// have ended.
//
//   - why: what is missing in them; none: nothing.
//   - made: how the recording was made.
func stopped(at time.Time, why []string, made string) recording.Record {
	e := &recording.Event{Kind: recording.Stopped, Time: at, Text: made}
	const most = 20
	if n := len(why); n > most {
		why = append(why[:most:most], fmt.Sprintf("and %d more", n-most))
	}
	if len(why) > 0 {
		e.Failed, e.Text = true, made+": "+strings.Join(why, "; ")
	}
	return recording.Record{Event: e}
}

// blocksMissing says how many blocks could not be read.
func blocksMissing(n uint64) string {
	if n == 1 {
		return "1 block could not be read"
	}
	return fmt.Sprintf("%d blocks could not be read", n)
}
