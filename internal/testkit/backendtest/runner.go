// SPDX-License-Identifier: Apache-2.0

// Package backendtest drives backends in their own tests: an event loop that runs
// in a goroutine, a handler that hands over what it hears, and what the
// conformance suite must know of every backend on such a loop.
//
// The package is for tests only: nothing of the product imports it.
package backendtest

import (
	"context"
	"sync"

	"tagbus/netio"
	"tagbus/netio/netiotest"
	"tagbus/netio/reactor"
)

// Runner is a loop with the goroutine that runs it.
type Runner struct {
	*reactor.EventLoop
	ended chan error
	once  sync.Once
}

// NewRunner returns a loop that does not run yet, and that the caller closes.
func NewRunner(t netiotest.TB, cfg reactor.Config) *Runner {
	t.Helper()
	loop, err := reactor.New(cfg)
	if err != nil {
		t.Fatalf("reactor.New: got error %v, want none", err)
	}
	return &Runner{EventLoop: loop, ended: make(chan error, 1)}
}

// StartLoop returns a loop that runs until the end of the test, and has no
// sources left then.
func StartLoop(t netiotest.TB, cfg reactor.Config) *Runner {
	t.Helper()
	r := NewRunner(t, cfg)
	r.Start()
	t.Cleanup(func() {
		r.End(t)
		if err := r.Close(); err != nil {
			t.Errorf("close the loop: got error %v, want none", err)
		}
	})
	return r
}

// StartLoops is StartLoop for n loops of which a test needs no more than to run.
func StartLoops(t netiotest.TB, n int) []*reactor.EventLoop {
	t.Helper()
	var all []*reactor.EventLoop
	for range n {
		all = append(all, StartLoop(t, reactor.Config{}).EventLoop)
	}
	return all
}

// Start runs the loop.
func (r *Runner) Start() {
	go func() {
		var err error
		defer func() { r.ended <- err }() // also if a callback has ended the goroutine: Close says so
		err = r.Run(context.Background())
	}()
}

// end ends the loop, waits for that, and returns the error of Run once.
func (r *Runner) end() (err error) {
	r.once.Do(func() {
		r.Stop()
		err = <-r.ended
	})
	return err
}

// End ends the loop and waits for that.
func (r *Runner) End(t netiotest.TB) {
	t.Helper()
	if err := r.end(); err != nil {
		t.Errorf("Run: got error %v, want none", err)
	}
}

// NewTimer makes a Runner a netio.Loop.
func (r *Runner) NewTimer(f func()) (netio.Timer, error) { return r.EventLoop.NewTimer(f) }

// Opener is the opener of a backend on a loop.
type Opener func(*reactor.EventLoop) netio.Opener

// Open opens a backend on a loop of its own, for the time of the test.
func Open(t netiotest.TB, cfg reactor.Config, h netio.Handler, open Opener) (netio.Backend, *Runner) {
	t.Helper()
	r := StartLoop(t, cfg)
	b, err := open(r.EventLoop)(h)
	if err != nil {
		t.Fatalf("open backend: got error %v, want none", err)
	}
	t.Cleanup(func() {
		if err := b.Close(); err != nil {
			t.Errorf("Backend.Close: got error %v, want none", err)
		}
	})
	return b, r
}
