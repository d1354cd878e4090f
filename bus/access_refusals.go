// SPDX-License-Identifier: Apache-2.0

package bus

import (
	"errors"
	"sync/atomic"
	"time"

	"tagbus/acl"
	"tagbus/identity"
	"tagbus/internal/backoff"
)

const (
	// maxRefusals is for how many peers and actions refusals are remembered. With more all
	// are told anew.
	maxRefusals = 1024

	// maxRefusalTexts is how many different refusals of each are told for themselves. The
	// others are told as one: a peer chooses the tags for which it asks.
	maxRefusalTexts = 16
)

// refusals tells each refusal once, and again from time to time, with how often it came.
// Its zero value is ready.
//
// Threads: the loop, except total.
type refusals struct {
	total atomic.Uint64
	of    map[refusalKey]*refusalsOf
}

// refusalKey says what is counted together.
type refusalKey struct {
	peer   identity.Principal // at the other end
	who    identity.Principal // that may not do it: the peer, or this process
	action acl.Action
}

type refusalsOf struct {
	told map[string]*refusalTold // by the text
	rest refusalTold             // all others
}

type refusalTold struct {
	again backoff.Reminder
	times uint64 // since it was told last
}

// event returns the event for a refusal, and reports whether it is to be told now.
//
//   - err: one without an *AccessError is always told.
//   - peer: at the other end.
//   - proved: which one it is; nil without Access.
//   - door: names the rule.
func (r *refusals) event(door *door, err error, peer *Peer, proved *identity.Peer) (e Event, tell bool) {
	refused := (*AccessError)(nil)
	if !errors.As(err, &refused) {
		return Event{Kind: Refused, Peer: peer, Err: err}, true
	}
	r.total.Add(1)
	key := refusalKey{who: refused.Who, action: refused.Action}
	if proved != nil {
		key.peer = proved.Principal
	}
	told := r.find(key, refused)
	told.times++
	if !told.again.Due(time.Now()) {
		return Event{}, false
	}
	counted := *door.explained(refused)
	counted.Times, told.times = told.times, 0
	return Event{Kind: Refused, Peer: peer, Tags: refused.Tags, Err: &counted}, true
}

// find returns what is known of a refusal.
func (r *refusals) find(key refusalKey, refused *AccessError) *refusalTold {
	all := r.of[key]
	if all == nil {
		if r.of == nil || len(r.of) >= maxRefusals {
			r.of = make(map[refusalKey]*refusalsOf)
		}
		all = &refusalsOf{told: make(map[string]*refusalTold)}
		r.of[key] = all
	}
	text := refused.outside().Error()
	told := all.told[text]
	switch {
	case told != nil:
	case len(all.told) >= maxRefusalTexts:
		told = &all.rest
	default:
		told = &refusalTold{}
		all.told[text] = told
	}
	return told
}
