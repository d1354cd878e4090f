// SPDX-License-Identifier: Apache-2.0

package memnet

import (
	"slices"
	"time"

	"tagbus/netio"
)

// partialTimeout is how long a peer may stop in the middle of a message while
// others wait for the buffer that holds its part.
const partialTimeout = 10 * time.Second

// receiveBuffers are as many messages as endpoints can hold of which only a part
// has come, or which OnData looks at: those of one endpoint, those that the
// endpoints of a listen endpoint share, or those of a whole backend. They are
// only counted. nil stands for any number. Guarded by the network's mutex.
type receiveBuffers struct {
	free    int
	holders []*endpoint
	waiting []*endpoint // for a buffer, with a message to receive, in order
	since   time.Time   // when the first of those came who wait
}

// newReceiveBuffers returns n buffers.
func newReceiveBuffers(n int) *receiveBuffers {
	if n == 0 {
		return nil
	}
	return &receiveBuffers{free: n}
}

// take gives e a buffer, unless none is left for it after those who wait longer:
// then e waits, and gets a turn when there may be one.
func (r *receiveBuffers) take(e *endpoint) bool {
	if r == nil || e.holds {
		return true
	}
	i := slices.Index(r.waiting, e)
	ahead := i
	if i < 0 {
		ahead = len(r.waiting)
	}
	switch {
	case ahead >= r.free && i < 0:
		r.wait(e)
		return false
	case ahead >= r.free:
		return false
	case i >= 0:
		r.waiting = slices.Delete(r.waiting, i, i+1)
	}
	r.free--
	r.holders = append(r.holders, e)
	e.holds = true
	return true
}

// wait puts e behind those who wait. From then on time counts for the peers of
// those who hold a buffer.
func (r *receiveBuffers) wait(e *endpoint) {
	if len(r.waiting) == 0 {
		r.since = time.Now()
		for _, h := range r.holders {
			h.b.schedule(h)
		}
	}
	r.waiting = append(r.waiting, e)
}

// put gives the buffer of e back, if it has one.
func (r *receiveBuffers) put(e *endpoint) {
	if e.holds {
		e.holds = false
		r.holders = slices.DeleteFunc(r.holders, func(x *endpoint) bool { return x == e })
		r.free++
		r.wake()
	}
}

// leave lets e wait no longer, if it does.
func (r *receiveBuffers) leave(e *endpoint) {
	if r == nil {
		return
	}
	if i := slices.Index(r.waiting, e); i >= 0 {
		r.waiting = slices.Delete(r.waiting, i, i+1)
		r.wake()
	}
}

// expire ends e if its peer has stopped for too long in the middle of a message
// while others wait, or sees to it that e comes again when that will be so. A
// pause has no limit.
func (r *receiveBuffers) expire(e *endpoint) {
	if !e.holds || e.paused || e.stopped() || len(r.waiting) == 0 {
		return
	}
	deadline := r.since
	if e.progress.After(deadline) {
		deadline = e.progress
	}
	deadline = deadline.Add(partialTimeout)
	if time.Now().Before(deadline) {
		e.b.wakeAt(e, deadline)
		return
	}
	e.b.stats.Truncated++
	e.cause = &netio.OpError{Op: "receive", Addr: e.remote, Err: netio.ErrTimeout}
}

// wake gives a turn to those for whom there is a buffer.
func (r *receiveBuffers) wake() {
	for _, e := range r.waiting[:min(r.free, len(r.waiting))] {
		e.b.schedule(e)
	}
}
