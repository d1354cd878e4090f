// SPDX-License-Identifier: Apache-2.0

package rec

import (
	"fmt"
	"strings"
	"time"

	"tagbus/recording"
	"tagbus/tags"
)

// When is a time in a recording. The zero value is no limit.
type When struct {
	at    time.Time
	after time.Duration // since the beginning
	clock time.Duration // since midnight of the day of the beginning
	kind  whenKind
}

type whenKind int

const (
	noTime whenKind = iota
	absolute
	afterBegin
	ofDay
)

// dayForms and clockForms are how a time can be written, in the zone of this host.
var (
	dayForms   = []string{time.DateOnly, "2006-01-02 15:04", time.DateTime, "2006-01-02T15:04", "2006-01-02T15:04:05"}
	clockForms = []string{"15:04", time.TimeOnly}
)

// UnmarshalText reads +90s, 15:04, 15:04:05.25, 2026-11-23 15:04:05 or RFC 3339.
func (w *When) UnmarshalText(b []byte) error {
	text := string(b)
	if span, ok := strings.CutPrefix(text, "+"); ok {
		if after, err := time.ParseDuration(span); err == nil && after >= 0 {
			*w = When{after: after, kind: afterBegin}
			return nil
		}
	}
	if at, err := time.Parse(time.RFC3339, text); err == nil {
		*w = When{at: at, kind: absolute}
		return nil
	}
	for _, form := range dayForms {
		if at, err := time.ParseInLocation(form, text, time.Local); err == nil {
			*w = When{at: at, kind: absolute}
			return nil
		}
	}
	for _, form := range clockForms {
		if at, err := time.Parse(form, text); err == nil {
			*w = When{clock: at.Sub(at.Truncate(24 * time.Hour)), kind: ofDay}
			return nil
		}
	}
	return fmt.Errorf("%q is no time: want +90s (after the beginning of the recording), 15:04:05 (of its first day), 2026-11-23 15:04:05, or RFC 3339", text)
}

// Absolute returns the time if it depends on no recording, or the zero time if there is no limit.
// ok is false if it does.
func (w When) Absolute() (at time.Time, ok bool) { return w.at, w.kind == absolute || w.kind == noTime }

// In returns the time in a recording that begins at a time, or the zero time if there is
// no limit.
func (w When) In(begin time.Time) time.Time {
	switch w.kind {
	case absolute:
		return w.at
	case afterBegin:
		return begin.Add(w.after)
	case ofDay:
		b := begin.Local()
		c := time.Time{}.Add(w.clock)
		return time.Date(b.Year(), b.Month(), b.Day(), c.Hour(), c.Minute(), c.Second(), c.Nanosecond(), time.Local)
	default:
		return time.Time{}
	}
}

// Selection says what of a recording is wanted.
type Selection struct {
	Tags      tags.Set `placeholder:"TAGS" help:"Only these tags: tags, ranges FIRST-LAST, value&mask and slash forms with *, separated by commas. Default: all."`
	From      When     `placeholder:"TIME" help:"Only from this time on: +90s (after the beginning of the recording), 15:04:05 (of its first day), 2026-11-23 15:04:05, or RFC 3339. Default: the beginning."`
	To        When     `placeholder:"TIME" help:"Only before this time, in the same forms. Default: the end."`
	Publisher string   `placeholder:"NAME" help:"Only what comes from publishers of this name or instance. Default: all."`
}

// chooses reports whether flags choose something.
func (s *Selection) chooses() bool {
	return !s.Tags.IsEmpty() || s.From != (When{}) || s.To != (When{}) || s.Publisher != ""
}

// query returns the query for files.
//
//   - Errors: --to is not after --from.
func (s *Selection) query(rs recording.Readers) (recording.Query, error) {
	begin, _ := span(rs)
	q := recording.Query{Tags: s.Tags, From: s.From.In(begin), To: s.To.In(begin), Publisher: s.Publisher}
	if !q.From.IsZero() && !q.To.IsZero() && !q.To.After(q.From) {
		return q, fmt.Errorf("--to: got %s, want a time after --from, %s", q.To.Format(time.RFC3339Nano), q.From.Format(time.RFC3339Nano))
	}
	return q, nil
}

// span returns the first and the last time of a record; zero: there is none.
func span(rs recording.Readers) (first, last time.Time) {
	for _, r := range rs {
		i := r.Info()
		if !i.First.IsZero() && (first.IsZero() || i.First.Before(first)) {
			first = i.First
		}
		if i.Last.After(last) {
			last = i.Last
		}
	}
	return first, last
}
