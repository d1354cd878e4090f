// SPDX-License-Identifier: Apache-2.0

package session

import (
	"errors"
	"fmt"
	"iter"
	"maps"
	"strings"
	"time"

	"tagbus/bus"
	"tagbus/cmd/internal/units"
	"tagbus/tags"
)

const (
	// maxFailures is how many publishers that have failed are named.
	maxFailures = 3

	// maxVanished is how many publishers that have vanished are known again if they come back.
	maxVanished = 4096

	// maxMet is how many publishers that have been met are told from those that have never answered. Beyond that none is said
	// not to have answered.
	maxMet = 4096
)

// Presence follows which publishers a subscriber has, or which senders a receiver has. A
// publisher is there from its first connection on. It owes its last count once it has
// acknowledged a subscription: if its connection is lost then, it is away until it comes back
// or vanishes. One that is lost before owes nothing, and is as if it had never been there.
//
// It also follows what publishers deny, and which could not be reached: that is not there, however
// well all others end.
//
// Its memory grows with the publishers that are there at one time, and with those that were there, up to maxMet and
// maxVanished. The zero value is ready.
//
// Threads: the loop, until that has stopped.
type Presence struct {
	Wanted tags.Set  // of which denials matter; empty: all. Set before the first event
	Began  time.Time // when publishers were looked for; zero: of one that does not answer nothing is said

	present  map[string]*standing // by instance
	came     bool                 // there was one
	ended    bool                 // one has ended or vanished
	seen     uint64               // publishers that have acknowledged a subscription
	away     uint64               // of those that are present
	vanished uint64               // that went without goodbye and have not come back
	gone     map[string]struct{}  // of those the first maxVanished
	failed   uint64               // that have ended because something failed there
	failures []string             // the first of them, with the reasons
	denials  denials
	withheld withheld

	met       map[string]struct{} // publishers that have answered, or failed to
	unreached map[string]*denial  // publishers to which each connection has failed so far
}

// standing is how a publisher stands.
type standing struct{ owes, away bool }

// See takes an event, and reports whether the last publisher has ended or vanished with it, or has
// before and no other is there any more.
func (p *Presence) See(e bus.Event) (lastGone bool) {
	p.Meet(e)
	if e.Peer == nil {
		if e.Kind == bus.Problem {
			p.hide(e.Err)
		}
		return false
	}
	id := e.Peer.Instance
	switch e.Kind {
	case bus.Connected:
		p.add(id)
	case bus.Subscribed, bus.Resubscribed: // what was missed in between is reported by now
		p.subscribed(id)
		p.denials.granted(id, e.Tags)
		p.withheld.granted(id, e.Tags)
		delete(p.unreached, id)
	case bus.Refused:
		p.denials.see(e, p.Wanted)
		p.withheld.see(e)
		p.unreach(e)
	case bus.Lost:
		return p.lost(id, e.Err)
	case bus.Goodbye, bus.Vanished:
		p.came, p.ended = true, true // though its first events may have been dropped
		p.remove(id)
		delete(p.unreached, id)
		if e.Kind == bus.Vanished {
			p.vanish(id)
		}
		p.noteFailure(e)
		return len(p.present) == 0
	default: // nothing about presence
	}
	return false
}

func (p *Presence) add(id string) *standing {
	if p.present == nil {
		p.present = make(map[string]*standing)
	}
	if p.present[id] == nil {
		p.present[id] = new(standing)
	}
	p.came = true
	return p.present[id]
}

func (p *Presence) subscribed(id string) {
	s := p.add(id)
	if s.away {
		p.away--
	}
	if _, back := p.gone[id]; back {
		delete(p.gone, id)
		p.vanished--
	} else if !s.owes {
		p.seen++
	}
	*s = standing{owes: true}
}

// lost takes the end of a connection.
//
//   - err: nil if this side has left in order.
func (p *Presence) lost(id string, err error) (lastGone bool) {
	switch s := p.present[id]; {
	case s == nil:
	case err == nil || !s.owes:
		p.remove(id)
		return p.ended && len(p.present) == 0
	case !s.away:
		s.away = true
		p.away++
	}
	return false
}

func (p *Presence) remove(id string) {
	if s := p.present[id]; s != nil && s.away {
		p.away--
	}
	delete(p.present, id)
}

func (p *Presence) vanish(id string) {
	if _, known := p.gone[id]; known {
		return
	}
	p.vanished++
	if p.gone == nil {
		p.gone = make(map[string]struct{})
	}
	if len(p.gone) < maxVanished {
		p.gone[id] = struct{}{}
	}
}

// noteFailure notes why a publisher has ended, if it has failed.
func (p *Presence) noteFailure(e bus.Event) {
	failed := (*bus.PeerFailedError)(nil)
	if !errors.As(e.Err, &failed) {
		return
	}
	if p.failed++; len(p.failures) < maxFailures {
		p.failures = append(p.failures, fmt.Sprintf("%v: %s", e.Peer, failed.Reason))
	}
}

// Came reports whether there was a publisher.
func (p *Presence) Came() bool { return p.came }

// Seen returns how many publishers have acknowledged a subscription.
func (p *Presence) Seen() uint64 { return p.seen }

// Away returns how many publishers have lost their connection, and may come back.
func (p *Presence) Away() uint64 { return p.away }

// Vanished returns how many publishers have gone for good without goodbye.
func (p *Presence) Vanished() uint64 { return p.vanished }

// Unaccounted returns how many publishers have not said how much they have published.
func (p *Presence) Unaccounted() uint64 { return p.vanished + p.away }

// Connected returns the instances of publishers that have acknowledged a subscription and are
// connected.
func (p *Presence) Connected() iter.Seq[string] {
	return func(yield func(string) bool) {
		for id, s := range maps.All(p.present) {
			if s.owes && !s.away && !yield(id) {
				return
			}
		}
	}
}

// Failed returns how many publishers have ended because something failed there.
func (p *Presence) Failed() uint64 { return p.failed }

// Failure returns an error that names the publishers that have failed, or nil.
//
//   - role: what they are: "publisher".
func (p *Presence) Failure(role string) error {
	if p.failed == 0 {
		return nil
	}
	text := fmt.Sprintf("%s failed: %s", units.FormatNumber(p.failed, role), strings.Join(p.failures, "; "))
	if more := p.failed - uint64(len(p.failures)); more > 0 {
		text += fmt.Sprintf("; and %s", units.FormatNumber(more, "other"))
	}
	return errors.New(text)
}
