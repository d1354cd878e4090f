// SPDX-License-Identifier: Apache-2.0

package netiotest

import (
	"fmt"
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"tagbus/internal/goroutine"
	"tagbus/netio"
)

// recorder is the Handler of the suite. It writes down what a backend reports
// and notices what no backend may ever do: a callback off the loop, inside
// another one or inside a call into the backend, for an endpoint that is not
// established or is closed, completions that no send waits for or in the wrong
// order, more OnSendReady than refusals. Such problems fail the test at its
// next wait, or at its end.
type recorder struct {
	name     string
	patience time.Duration
	word     []byte         // something to send, from the region of the pair
	inside   atomic.Int32   // callbacks that run now
	loopID   atomic.Uint64  // the loop's goroutine; 0: not known, or it has ended
	caller   atomic.Uint64  // the goroutine that holds mu during a call into the backend
	hop      func(f func()) // runs f where the backend may be called

	mu       sync.Mutex
	changed  chan struct{} // closed, and replaced, when something was recorded
	problems []string
	ended    bool // Backend.Close has returned
	ends     []*end
	refused  []refusal
	hooks    hooks
}

// refusal is one OnConnectionRefused.
type refusal struct {
	addr netip.AddrPort
	err  error
}

// hooks are called inside the callbacks, when they have been recorded, without
// a lock. Each may be nil.
type hooks struct {
	established func(e *end)
	refused     func(addr netip.AddrPort)
	data        func(e *end, data []byte)
	refuses     func(parts int) bool // called under the lock, with the number of messages in parts before
	parts       func(e *end, head, data []byte)
	completed   func(e *end, key netio.Key)
	ready       func(e *end)
	closed      func(e *end)
}

func newRecorder(name string, patience time.Duration) *recorder {
	return &recorder{name: name, patience: patience, changed: make(chan struct{}), hop: func(f func()) { f() }}
}

// record runs f, which writes something down, under the lock, unless the
// callback may not run now. It returns the hooks to call next.
func (r *recorder) record(what string, f func()) hooks {
	self := goroutine.Self()
	if r.caller.Load() == self {
		// The lock is held by the very caller inside whose call this is.
		r.problems = append(r.problems, what+" was called from inside a call into the backend")
		return hooks{}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.inside.Load() != 1 {
		r.problem("%s was called while another callback ran", what)
	}
	if loop := r.loopID.Load(); loop != 0 && loop != self {
		r.problem("%s was called on another goroutine than that of the loop", what)
	}
	if r.ended {
		r.problem("%s was called after Backend.Close had returned", what)
	}
	f()
	r.wake()
	return r.hooks
}

// note calls f with r.mu held, and wakes the goroutines that wait for its effect.
func (r *recorder) note(f func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	f()
	r.wake()
}

// wake lets those who wait look again. It needs r.mu.
func (r *recorder) wake() {
	close(r.changed)
	r.changed = make(chan struct{})
}

// problem needs r.mu.
func (r *recorder) problem(format string, args ...any) {
	r.problems = append(r.problems, fmt.Sprintf(format, args...))
}

// enter begins a callback; its result ends it.
func (r *recorder) enter() func() {
	r.inside.Add(1)
	return func() { r.inside.Add(-1) }
}

// find returns the end of ep, and notes a problem if ep is not one that may
// have callbacks. It returns nil if there is none, or if it has ended: what was
// recorded of it is final, and tests read it without the lock. It needs r.mu.
func (r *recorder) find(what string, ep netio.Endpoint) *end {
	i := slices.IndexFunc(r.ends, func(e *end) bool { return e.ep == ep })
	if i < 0 {
		r.problem("%s for an endpoint that was never established", what)
		return nil
	}
	e := r.ends[i]
	switch {
	case e.closed:
		r.problem("%s after OnConnectionClosed of the endpoint", what)
		return nil
	case e.closing && what != "OnConnectionClosed":
		r.problem("%s after Close was called on the loop", what)
	case e.offered != nil && what != "OnData":
		r.problem("%s after a message in parts that was not taken, want OnData with it", what)
	}
	return e
}

// OnConnectionEstablished implements netio.Handler.
func (r *recorder) OnConnectionEstablished(ep netio.Endpoint) {
	defer r.enter()()
	var e *end
	h := r.record("OnConnectionEstablished", func() {
		if slices.ContainsFunc(r.ends, func(e *end) bool { return e.ep == ep }) {
			r.problem("OnConnectionEstablished came twice for one endpoint")
			return
		}
		e = &end{r: r, ep: ep, capabilities: ep.Capabilities(), context: ep.Context()}
		r.ends = append(r.ends, e)
	})
	if e != nil && h.established != nil {
		h.established(e)
	}
}

// OnConnectionRefused implements netio.Handler.
func (r *recorder) OnConnectionRefused(addr netip.AddrPort, err error) {
	defer r.enter()()
	h := r.record("OnConnectionRefused", func() { r.refused = append(r.refused, refusal{addr, err}) })
	if h.refused != nil {
		h.refused(addr)
	}
}

// OnConnectionClosed implements netio.Handler.
func (r *recorder) OnConnectionClosed(ep netio.Endpoint, keys []netio.Key, cause error) {
	defer r.enter()()
	var e *end
	h := r.record("OnConnectionClosed", func() {
		if e = r.find("OnConnectionClosed", ep); e != nil {
			e.end(keys, cause)
		}
	})
	if e != nil && h.closed != nil {
		h.closed(e)
	}
}

// OnData implements netio.Handler.
func (r *recorder) OnData(ep netio.Endpoint, data []byte) {
	defer r.enter()()
	var e *end
	h := r.record("OnData", func() {
		if e = r.find("OnData", ep); e == nil {
			return
		}
		if e.paused {
			r.problem("OnData after PauseReceive was called on the loop")
		}
		if e.offered != nil && !slices.Equal(e.offered, data) {
			r.problem("OnData after a message in parts that was not taken: got %s, want %s", shortBytes(data), shortBytes(e.offered))
		}
		e.offered = nil
		e.received = append(e.received, slices.Clone(data))
	})
	if e != nil && h.data != nil {
		h.data(e, data)
	}
}

// OnSendCompleted implements netio.Handler.
func (r *recorder) OnSendCompleted(c netio.Completion) {
	defer r.enter()()
	var e *end
	h := r.record("OnSendCompleted", func() {
		if e = r.find("OnSendCompleted", c.Endpoint); e != nil {
			e.complete(c.Key)
		}
	})
	if e != nil && h.completed != nil {
		h.completed(e, c.Key)
	}
}

// OnSendReady implements netio.Handler.
func (r *recorder) OnSendReady(ep netio.Endpoint) {
	defer r.enter()()
	var e *end
	h := r.record("OnSendReady", func() {
		if e = r.find("OnSendReady", ep); e == nil {
			return
		}
		if e.ready++; e.ready > e.refusals && !e.loose {
			r.problem("OnSendReady came %d times after %d times ErrNoResources", e.ready, e.refusals)
		}
	})
	if e != nil && h.ready != nil {
		h.ready(e)
	}
}
