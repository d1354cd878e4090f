// SPDX-License-Identifier: Apache-2.0

//go:build linux

// Package audit holds the streams of a bus to account while it runs, for hours: it reads the records of package load
// again and again, has package check judge each stream that is over, and gives its slot back. What it keeps does not
// grow with the time.
package audit

import (
	"fmt"
	"os"
	"time"

	"tagbus/test/faults/internal/check"
	"tagbus/test/faults/internal/record"
)

const (
	// patience is how long a live subscriber may miss messages below the last one that came before it is told.
	patience = time.Minute

	// notice is how long a subscriber may take to learn that a publisher is gone.
	notice = 3 * time.Minute

	// kept is how long the record of a publisher stays that no stream names.
	kept = time.Minute
)

// End is how a process has ended.
type End int

// The ends.
const (
	Runs    End = iota
	Ordered     // with status 0
	Killed
)

// Publisher is one run of a publisher.
type Publisher struct {
	path    string
	sent    []check.Sent
	end     End
	since   time.Time // end, or a stream that names it
	streams int       // that name it, at the last look
}

// Subscriber is one run of a subscriber.
type Subscriber struct {
	name, path string
	policy     func(tag uint64) string
	got        []check.Got
	end        End
	over       []bool // by slot: the stream was over at the last look
	missing    []gap  // by slot
	doubts     map[doubt]time.Time
}

// gap is how many messages were missing below the last one at some time, which are to be told by and by.
type gap struct {
	messages uint64
	since    time.Time
}

// doubt is something wrong with a slot that may be right at the next look.
type doubt struct {
	slot int
	what string
}

// Audit is the books of a bus. Make one with New.
//
// Threads: one at a time.
type Audit struct {
	now         func() time.Time
	problem     func(format string, args ...any)
	publishers  map[check.Name]*Publisher
	starting    map[*Publisher]bool // whose records have no name yet
	subscribers map[*Subscriber]bool
	sums        map[string]*Sums // by policy
}

// New returns books without records. problem is called with all that is wrong.
func New(now func() time.Time, problem func(format string, args ...any)) *Audit {
	return &Audit{
		now: now, problem: problem,
		publishers: make(map[check.Name]*Publisher), starting: make(map[*Publisher]bool),
		subscribers: make(map[*Subscriber]bool), sums: make(map[string]*Sums),
	}
}

// Publisher adds the record of a publisher, which may not be there yet.
func (a *Audit) Publisher(path string) *Publisher {
	p := &Publisher{path: path}
	a.starting[p] = true
	return p
}

// Subscriber adds the record of a subscriber, which may not be there yet.
func (a *Audit) Subscriber(name, path string, policy func(tag uint64) string) *Subscriber {
	s := &Subscriber{name: name, path: path, policy: policy, doubts: make(map[doubt]time.Time)}
	a.subscribers[s] = true
	return s
}

// Ended notes the end of a publisher: its record does not change any more.
func (a *Audit) Ended(p *Publisher, how End) { p.end, p.since = how, a.now() }

// Left notes the end of a subscriber.
func (a *Audit) Left(s *Subscriber, how End) { s.end = how }

// Sums returns the messages of the streams that were judged, by policy.
func (a *Audit) Sums() map[string]*Sums { return a.sums }

// Live returns how many streams of a publisher a subscriber has had a message of since a time of record.Now.
func (a *Audit) Live(s *Subscriber, p *Publisher, since int64) (streams int) {
	if len(p.sent) == 0 {
		return 0
	}
	for i := range s.got {
		if g := &s.got[i]; g.Judged == 0 && g.LastAt > since && g.Publisher == p.sent[0].Publisher {
			streams++
		}
	}
	return streams
}

// Open returns how many streams are not judged.
func (a *Audit) Open() (streams int) {
	for s := range a.subscribers {
		for i := range s.got {
			if s.got[i].Tag != 0 && s.got[i].Judged == 0 {
				streams++
			}
		}
	}
	return streams
}

// Look reads all records, and judges what is over.
func (a *Audit) Look() {
	for p := range a.starting {
		a.begin(p)
	}
	for _, p := range a.publishers {
		p.streams = 0
	}
	for s := range a.subscribers {
		a.look(s)
	}
	for name, p := range a.publishers {
		switch {
		case p.end == Runs:
		case p.streams > 0:
			p.since = a.now()
		case a.now().Sub(p.since) > kept:
			delete(a.publishers, name)
			record.Release(p.sent)
			remove(p.path)
		}
	}
}

// begin opens the record of a publisher once it has a name.
func (a *Audit) begin(p *Publisher) {
	sent, err := record.Open[check.Sent](p.path)
	switch {
	case err == nil && sent[0].Publisher != check.Name{}:
		p.sent = sent
		a.publishers[sent[0].Publisher] = p
		delete(a.starting, p)
	case p.end != Runs: // before it had one
		delete(a.starting, p)
		remove(p.path)
		fallthrough
	default:
		record.Release(sent)
	}
}

// look reads the record of a subscriber.
func (a *Audit) look(s *Subscriber) {
	if s.got == nil {
		got, err := record.Open[check.Got](s.path)
		if err != nil { // it has not begun, or has ended before
			if s.end != Runs {
				delete(a.subscribers, s)
			}
			return
		}
		s.got, s.over, s.missing = got, make([]bool, len(got)), make([]gap, len(got))
	}
	for i := range s.got {
		if s.got[i].Tag != 0 && s.got[i].Judged == 0 {
			a.stream(s, i)
		}
	}
	if s.end != Runs {
		delete(a.subscribers, s)
		record.Release(s.got)
		remove(s.path)
	}
}

// remove removes a record and what is beside it.
func remove(path string) {
	for _, suffix := range []string{"", ".owed", ".vitals"} {
		_ = os.Remove(path + suffix) // it may never have been there
	}
}

// stream looks at one stream of a subscriber.
func (a *Audit) stream(s *Subscriber, slot int) {
	g := s.got[slot]
	p := a.publishers[g.Publisher]
	if p == nil || g.Tag-p.sent[0].Tag >= uint64(len(p.sent)) {
		a.doubt(s, slot, "unknown", patience, true, "tag %d of %s, which no publisher is known to have: it comes after its account was closed", g.Tag, g.Publisher)
		return
	}
	p.streams++
	pair := check.Pair{
		Sent: p.sent[g.Tag-p.sent[0].Tag], Got: g, Policy: s.policy(g.Tag), Late: true,
		Killed: s.end == Killed, Left: s.end == Ordered,
	}
	told := g.Goodbye+g.Vanished > 0
	over := p.end != Runs && told || s.end != Runs
	if over && (s.over[slot] || s.end != Runs) {
		a.judge(s, slot, pair)
		return
	}
	s.over[slot] = over
	err := pair.Strange()
	a.doubt(s, slot, "strange", 0, err != nil, "%v", err)
	if gap := &s.missing[slot]; g.Told.Missing() >= gap.messages { // new ones may be missing by now
		gap.messages, gap.since = pair.Unseen(), a.now()
	}
	late := a.now().Sub(s.missing[slot].since) > patience
	a.doubt(s, slot, "missing", 0, late, "tag %d (%s): %d messages were missing below the last one %v ago, and %d are told", g.Tag, pair.Policy, s.missing[slot].messages, patience, g.Told.Missing())
	a.doubt(s, slot, "notice", notice, p.end != Runs && !told, "tag %d (%s): the publisher is gone, which is not told within %v", g.Tag, pair.Policy, notice)
}

// doubt is a problem, once, if it is there at two looks with some time between them.
func (a *Audit) doubt(s *Subscriber, slot int, what string, after time.Duration, there bool, format string, args ...any) {
	d := doubt{slot, what}
	since, known := s.doubts[d]
	switch {
	case !there:
		delete(s.doubts, d)
	case !known:
		s.doubts[d] = a.now()
	case !since.IsZero() && a.now().Sub(since) >= after:
		s.doubts[d] = time.Time{} // it was said
		a.problem("%s: "+format, append([]any{s.name}, args...)...)
	}
}

// judge closes the account of a stream.
func (a *Audit) judge(s *Subscriber, slot int, pair check.Pair) {
	if err := pair.Verify(); err != nil {
		a.problem("%s: %v; of %s: %s", s.name, err, pair.Got.Publisher, describe(pair))
	}
	s.over[slot], s.missing[slot] = false, gap{}
	for d := range s.doubts {
		if d.slot == slot {
			delete(s.doubts, d)
		}
	}
	sums := a.sums[pair.Policy]
	if sums == nil {
		sums = &Sums{}
		a.sums[pair.Policy] = sums
	}
	sums.add(pair)
	s.got[slot].Judged = 1
}

// describe returns the counts of a pair.
func describe(p check.Pair) string {
	g := p.Got
	return fmt.Sprintf("tried %d, accepted %d; first %d, next %d, delivered %d, missing %d, told %v; goodbye %d, vanished %d, killed %v, left %v",
		p.Sent.Tried, p.Sent.Accepted, g.First, g.Next, g.Delivered, g.Missing, g.Told, g.Goodbye, g.Vanished, p.Killed, p.Left)
}
