// SPDX-License-Identifier: Apache-2.0

package session

import (
	"fmt"

	"tagbus/bus"
	"tagbus/bus/directory"
)

// Listed is what the directory has at the end of a run. The zero value is of a directory of which
// nothing is known.
type Listed struct {
	instances map[string]struct{}
	silent    error // it has not answered once; nil: it has
}

// ListedBy looks at a directory.
//
//   - Blocks: as its List.
func ListedBy(d directory.Directory) Listed {
	entries, err := d.List()
	l := Listed{instances: make(map[string]struct{}, len(entries))}
	for i := range entries {
		l.instances[entries[i].Instance] = struct{}{}
	}
	if s, ok := d.(directory.StatsReporter); ok && err != nil && s.Stats().LastContact.IsZero() {
		l.silent = err
	}
	return l
}

// Settle is called once, at the end: a publisher that the directory still has, and that could not
// be connected to, refuses what is wanted as one that denies it. A dead one is not listed any more.
func (p *Presence) Settle(l Listed) {
	for id, d := range p.unreached {
		if _, there := l.instances[id]; there && p.denials.of[id] == nil {
			p.denials.add(id, d)
		}
	}
	p.unreached = nil
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
