// SPDX-License-Identifier: Apache-2.0

package netiotest

import (
	"fmt"
	"time"

	"tagbus/internal/goroutine"
	"tagbus/netio"
)

// wait blocks until ok, which is called under the lock, returns true. It fails
// the test when a problem is noticed or the patience ends.
func (r *recorder) wait(t TB, what string, ok func() bool) {
	t.Helper()
	if problem := r.await(what, ok); problem != "" {
		t.Fatalf("%s: %s", r.name, problem)
	}
}

// await is wait for any goroutine: it returns what is wrong.
func (r *recorder) await(what string, ok func() bool) string {
	limit := time.NewTimer(r.patience)
	defer limit.Stop()
	for {
		r.mu.Lock()
		done, changed := ok(), r.changed
		var problem string
		if len(r.problems) > 0 {
			problem = r.problems[0]
		}
		r.mu.Unlock()
		switch {
		case problem != "":
			return problem
		case done:
			return ""
		}
		select {
		case <-changed:
		case <-limit.C:
			return fmt.Sprintf("got nothing for %v, want %s", r.patience, what)
		}
	}
}

// locked runs f under the lock.
func (r *recorder) locked(f func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	f()
}

// call runs f, a call into the backend and the note of its outcome, under the
// lock: the contract allows the user to hold a lock that its Handler takes. It
// gets to where it may call before it takes the lock, which the loop may want.
func (r *recorder) call(f func()) {
	r.hop(func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.caller.Store(goroutine.Self())
		defer r.caller.Store(0)
		f()
	})
}

// release gives a buffer back where the backend may be called. Under the lock
// only inside call.
func (r *recorder) release(b *netio.Buffer) { r.hop(b.Release) }

// hook sets the hooks.
func (r *recorder) hook(h hooks) { r.locked(func() { r.hooks = h }) }

// finish is called when the backend is closed: nothing may come any more, and
// all endpoints have ended with all of their keys.
func (r *recorder) finish(t TB) {
	t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ended = true
	for i, e := range r.ends {
		if !e.closed {
			r.problem("endpoint %d had no OnConnectionClosed when Backend.Close returned", i)
		}
		e.settle()
	}
	for _, p := range r.problems {
		t.Errorf("%s: %s", r.name, p)
	}
}
