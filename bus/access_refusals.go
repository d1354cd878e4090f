// SPDX-License-Identifier: Apache-2.0

package bus

import (
	"errors"
	"sync/atomic"
	"time"

	"tagbus/internal/remind"
)

// maxRefusals is how many refusals are remembered. With more all are told anew.
const maxRefusals = 1024

// refusals tells each refusal once, and again from time to time, with how often it came.
// Its zero value is ready.
//
// Threads: the loop, except total.
type refusals struct {
	total atomic.Uint64
	of    map[string]*refusalTold
}

type refusalTold struct {
	again remind.Reminder
	times uint64 // since it was told last
}

// event returns the event for a refusal, and reports whether it is to be told now.
//
//   - err: one without an *AccessError is always told.
func (r *refusals) event(err error, peer *Peer) (e Event, tell bool) {
	refused := (*AccessError)(nil)
	if !errors.As(err, &refused) {
		return Event{Kind: Refused, Peer: peer, Err: err}, true
	}
	r.total.Add(1)
	key := refused.Error()
	told := r.of[key]
	if told == nil {
		if r.of == nil || len(r.of) >= maxRefusals {
			r.of = make(map[string]*refusalTold)
		}
		told = &refusalTold{}
		r.of[key] = told
	}
	told.times++
	if !told.again.Due(time.Now()) {
		return Event{}, false
	}
	counted := *refused
	counted.Times, told.times = told.times, 0
	return Event{Kind: Refused, Peer: peer, Tags: refused.Tags, Err: &counted}, true
}
