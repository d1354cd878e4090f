// SPDX-License-Identifier: Apache-2.0

package subscribe

import (
	"errors"
	"fmt"
	"strings"
	"sync"

	"tagbus/bus"
	"tagbus/cmd/internal/units"
)

// ending is why a run ends: the first reason counts.
type ending struct {
	once   sync.Once
	done   chan struct{} // closed when there is a reason
	reason string
	err    error // nil if it is an orderly end
}

func newEnding() *ending { return &ending{done: make(chan struct{})} }

// end ends the run. Later calls do nothing. Blocks: never.
func (e *ending) end(reason string, err error) {
	e.once.Do(func() {
		e.reason, e.err = reason, err
		close(e.done)
	})
}

// presence follows which publishers there are. Loop only, until it has stopped.
// The zero value is ready.
type presence struct {
	present  map[string]bool // by instance: connected
	away     map[string]bool // connection lost after a subscription was acknowledged
	vanished uint64          // publishers that went for good without goodbye
	failed   uint64          // publishers that have ended because something failed there
	failures []string        // the first of them, with the reasons
}

// maxFailures is how many publishers that have failed are named at the end.
const maxFailures = 3

// see takes an event and reports whether with it the last publisher has gone for
// good.
func (p *presence) see(e bus.Event) (lastGone bool) {
	if e.Peer == nil {
		return false
	}
	if p.present == nil {
		p.present, p.away = make(map[string]bool), make(map[string]bool)
	}
	switch e.Kind {
	case bus.Connected:
		p.present[e.Peer.Instance] = true
	case bus.Subscribed, bus.Resubscribed: // what was missed in between is reported by now
		delete(p.away, e.Peer.Instance)
	case bus.Lost:
		if p.present[e.Peer.Instance] {
			p.away[e.Peer.Instance] = true
		}
	case bus.Goodbye, bus.Vanished:
		if e.Kind == bus.Vanished {
			p.vanished++
		}
		p.noteFailure(e)
		delete(p.present, e.Peer.Instance)
		delete(p.away, e.Peer.Instance)
		return len(p.present) == 0
	default: // nothing about presence
	}
	return false
}

// noteFailure notes why a publisher has ended, if it has failed.
func (p *presence) noteFailure(e bus.Event) {
	failed := (*bus.PeerFailedError)(nil)
	if !errors.As(e.Err, &failed) {
		return
	}
	if p.failed++; len(p.failures) < maxFailures {
		p.failures = append(p.failures, fmt.Sprintf("%v: %s", e.Peer, failed.Reason))
	}
}

// failure returns an error that names the publishers that have failed, or nil.
//
//   - role: what they are: "publisher".
func (p *presence) failure(role string) error {
	if p.failed == 0 {
		return nil
	}
	text := fmt.Sprintf("%s failed: %s", units.FormatNumber(p.failed, role), strings.Join(p.failures, "; "))
	if more := p.failed - uint64(len(p.failures)); more > 0 {
		text += fmt.Sprintf("; and %s", units.FormatNumber(more, "other"))
	}
	return errors.New(text)
}

// unaccounted returns the number of publishers that ended without a final count.
func (p *presence) unaccounted() uint64 { return p.vanished + uint64(len(p.away)) }
