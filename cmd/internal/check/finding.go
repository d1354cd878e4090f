// SPDX-License-Identifier: Apache-2.0

package check

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"tagbus/bus/directory"
	"tagbus/cmd/internal/cli"
	"tagbus/cmd/internal/overview"
	"tagbus/internal/sanitize"
)

// Level is how bad a finding is. All tools have the same levels.
type Level = overview.Level

// The levels.
const (
	OK      = overview.OK
	Note    = overview.Note
	Warning = overview.Warning
	Error   = overview.Error
)

// statusFor returns the exit status of a check whose worst finding has the level.
func statusFor(l Level) int { return max(0, int(l)-1) }

// Finding is one thing that was looked at, and what was found.
type Finding struct {
	Level    Level  `json:"level"`
	Group    string `json:"group"`
	ID       string `json:"id"`                 // stable: docs/reference.md has them all
	About    string `json:"about"`              // the thing: an instance, a folder, a setting
	Instance string `json:"instance,omitempty"` // its id, if it is one
	Text     string `json:"text"`               // what was found, and what it means
	Do       string `json:"do,omitempty"`       // what to do; there is nothing if it is ok

	By         string `json:"by,omitempty"`          // the instance that says so, if it says so of another one
	ByInstance string `json:"by_instance,omitempty"` // its id

	host    string            // of the instance
	differs string            // what tells it from others of its kind about the same thing
	problem *overview.Problem // that it was made of; nil: check alone has found it
}

// key tells findings apart from one look to the next.
func (f Finding) key() string {
	return fmt.Sprintf("%d\x00%s\x00%s\x00%s\x00%s\x00%s", f.Level, f.ID, f.About, f.Instance, f.ByInstance, f.differs)
}

// findings are those of one group.
type findings struct {
	group string
	all   []Finding
}

// add adds a finding about a thing that is no instance.
func (f *findings) add(l Level, id, about, do, format string, args ...any) {
	f.all = append(f.all, Finding{
		Level: l, Group: f.group, ID: id, About: sanitize.Line(about),
		Text: sanitize.Linef(format, args...), Do: sanitize.Line(do),
	})
}

// of adds a finding about an instance.
func (f *findings) of(e *directory.Entry, l Level, id, do, format string, args ...any) {
	f.add(l, id, who(e), do, format, args...)
	last := &f.all[len(f.all)-1]
	last.Instance, last.host = e.Instance, e.Host
}

// differs notes what tells the last finding from others of its kind about the same thing.
func (f *findings) differs(by string) { f.all[len(f.all)-1].differs = by }

// judged adds what all tools find.
func (f *findings) judged(p *overview.Problem) {
	found := Finding{
		Level: p.Level, Group: f.group, ID: p.ID, About: p.Culprit.Called(), Instance: p.Culprit.Instance,
		Text: cli.Words(p.Text()), Do: p.Do(), host: p.Culprit.Host, problem: p, differs: string(p.Cause),
	}
	if p.Witness != p.Culprit {
		found.By, found.ByInstance = p.Witness.Called(), p.Witness.Instance
	}
	f.all = append(f.all, found)
}

// ok adds that nothing is wrong, unless something is: notes are no faults.
func (f *findings) ok(about, format string, args ...any) {
	if worst(f.all) < Warning {
		f.add(OK, f.group, about, "", format, args...)
	}
}

// sorted returns the findings, the worst last.
func (f *findings) sorted() []Finding {
	slices.SortStableFunc(f.all, func(a, b Finding) int { return cmp.Compare(a.Level, b.Level) })
	return f.all
}

// worst returns the highest level, OK of none.
func worst(all []Finding) Level {
	level := OK
	for _, f := range all {
		level = max(level, f.Level)
	}
	return level
}

// who names an instance as operators know it.
func who(e *directory.Entry) string {
	end := overview.EndOf(e)
	return end.Called()
}

// short rounds a time for people.
func short(d time.Duration) time.Duration {
	for _, step := range []struct{ from, to time.Duration }{
		{time.Minute, time.Second},
		{time.Second, 100 * time.Millisecond},
		{10 * time.Millisecond, time.Millisecond},
		{time.Millisecond, 100 * time.Microsecond},
	} {
		if d.Abs() >= step.from {
			return d.Round(step.to)
		}
	}
	return d.Round(10 * time.Microsecond)
}

// count says how many there are of a thing.
func count(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}
