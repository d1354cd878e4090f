// SPDX-License-Identifier: Apache-2.0

package session

import (
	"errors"
	"fmt"
	"time"

	"tagbus/bus"
	"tagbus/bus/directory"
	"tagbus/tags"
)

// Listed is what the directory has at the end of a run. The zero value is of a directory of which
// nothing is known.
type Listed struct {
	entries  []directory.Entry
	problems error
	silent   error // it has not answered once; nil: it has
}

// ListedBy looks at a directory.
//
//   - Blocks: as its List.
func ListedBy(d directory.Directory) Listed {
	entries, err := d.List()
	l := Listed{entries: entries, problems: err}
	if s, ok := d.(directory.StatsReporter); ok && err != nil && s.Stats().LastContact.IsZero() {
		l.silent = err
	}
	return l
}

// answerTime is how long a publisher may take to answer a first connection. On a busy host it takes some time.
const answerTime = 2 * time.Second

// Settle is called once, at the end: a publisher that the directory still has, and that could not
// be connected to, refuses what is wanted as one that denies it. So does one that has not answered for the whole
// run, as a process that is stopped. A dead one is not listed any more.
//
//   - ended: when publishers were looked for no more. What came later, while output was written, could not answer.
func (p *Presence) Settle(l Listed, ended time.Time) {
	for i := range l.entries {
		e := &l.entries[i]
		d := p.unreached[e.Instance]
		if d == nil {
			d = p.unanswered(e, ended)
		}
		if d != nil && p.denials.of[e.Instance] == nil {
			p.denials.add(e.Instance, d)
		}
	}
	p.unreached = nil
	p.hide(l.problems)
	p.unread(l.problems)
}

// unanswered returns what a publisher of which nothing is known but its entry keeps back, or nil.
func (p *Presence) unanswered(e *directory.Entry, ended time.Time) *denial {
	_, met := p.met[e.Instance]
	since := p.Began
	if e.Since.After(since) {
		since = e.Since
	}
	switch waited := ended.Sub(since); {
	case p.Began.IsZero(), met, len(p.met) == maxMet, waited < answerTime, e.Role != directory.Publisher, !p.wants(e.Tags):
		return nil
	default:
		peer := bus.Peer{Instance: e.Instance, Name: e.Name, Host: e.Host, PID: e.PID}
		return &denial{peer: peer.String(), all: true, reason: fmt.Sprintf("it has not answered for %v", waited.Round(time.Second))}
	}
}

// wants reports whether tags of a publisher are wanted.
func (p *Presence) wants(served tags.Set) bool {
	if p.Wanted.IsEmpty() {
		return !served.IsEmpty()
	}
	return served.Intersects(p.Wanted)
}

// Meet takes an event that comes when the run has ended, of which See has to know no more: all that matters of it is that the
// publisher has answered, or has failed to.
func (p *Presence) Meet(e bus.Event) {
	if errors.Is(e.Err, bus.ErrEventsDropped) { // the answers of some may be among them
		p.Began = time.Time{}
	}
	if e.Peer == nil {
		return
	}
	if p.met == nil {
		p.met = make(map[string]struct{})
	}
	if len(p.met) < maxMet {
		p.met[e.Peer.Instance] = struct{}{}
	}
}

// Silent returns an error if the directory has not answered once, so that it is not known which
// publishers there were.
func (l Listed) Silent() error {
	if l.silent == nil {
		return nil
	}
	return fmt.Errorf("no publisher could be looked for: %w", l.silent)
}

// unreach notes a publisher to which a connection has failed, unless there is one, or has been: what
// is refused on a connection is told by others.
func (p *Presence) unreach(e bus.Event) {
	if p.present[e.Peer.Instance] != nil || e.Err == nil || Denied(e.Err) {
		return
	}
	if p.unreached == nil {
		p.unreached = make(map[string]*denial)
	}
	if p.unreached[e.Peer.Instance] != nil || len(p.unreached) < maxDenied {
		p.unreached[e.Peer.Instance] = &denial{peer: e.Peer.String(), all: true, reason: reasonOf(e.Err)}
	}
}
