// SPDX-License-Identifier: Apache-2.0

package backendtest

import (
	"bytes"
	"net/netip"
	"slices"
	"time"

	"tagbus/netio"
	"tagbus/netio/netiotest"
)

// Patience is how long something that must happen may take. Only a test that
// fails spends it: under the race detector, on a machine that does much else, what takes a
// second by itself has taken half a minute.
const Patience = 5 * time.Minute

// Watched is how many events of a kind a Watcher holds.
const Watched = 1 << 16

// Ending is an OnConnectionClosed.
type Ending struct {
	Endpoint netio.Endpoint
	Keys     []netio.Key
	Cause    error
}

// Watcher is a handler that hands over what it hears, and calls hooks behind.
type Watcher struct {
	Established chan netio.Endpoint
	Refused     chan error
	Closed      chan Ending
	Data        chan []byte
	Completed   chan netio.Key
	Ready       chan struct{}

	// Hooks; nil: none.
	AtEstablished func(netio.Endpoint)
	AtData        func(netio.Endpoint, []byte)
	AtCompleted   func(netio.Completion)
	AtClosed      func(netio.Endpoint)
}

// NewWatcher returns a Watcher without hooks.
func NewWatcher() *Watcher {
	return &Watcher{
		Established: make(chan netio.Endpoint, Watched), Refused: make(chan error, Watched), Closed: make(chan Ending, Watched),
		Data: make(chan []byte, Watched), Completed: make(chan netio.Key, Watched), Ready: make(chan struct{}, Watched),
	}
}

// OnConnectionEstablished implements netio.Handler.
func (w *Watcher) OnConnectionEstablished(ep netio.Endpoint) {
	w.Established <- ep
	if w.AtEstablished != nil {
		w.AtEstablished(ep)
	}
}

// OnConnectionRefused implements netio.Handler.
func (w *Watcher) OnConnectionRefused(_ netip.AddrPort, err error) { w.Refused <- err }

// OnConnectionClosed implements netio.Handler.
func (w *Watcher) OnConnectionClosed(ep netio.Endpoint, keys []netio.Key, cause error) {
	w.Closed <- Ending{ep, slices.Clone(keys), cause}
	if w.AtClosed != nil {
		w.AtClosed(ep)
	}
}

// OnData implements netio.Handler.
func (w *Watcher) OnData(ep netio.Endpoint, data []byte) {
	w.Data <- bytes.Clone(data)
	if w.AtData != nil {
		w.AtData(ep, data)
	}
}

// OnSendCompleted implements netio.Handler.
func (w *Watcher) OnSendCompleted(c netio.Completion) {
	w.Completed <- c.Key
	if w.AtCompleted != nil {
		w.AtCompleted(c)
	}
}

// OnSendReady implements netio.Handler.
func (w *Watcher) OnSendReady(netio.Endpoint) { w.Ready <- struct{}{} }

// Next waits for an event.
func Next[T any](t netiotest.TB, what string, events <-chan T) (event T) {
	t.Helper()
	select {
	case event = <-events:
	case <-time.After(Patience):
		t.Fatalf("%s: got nothing for %v, want one", what, Patience)
	}
	return event
}

// OnLoop runs f on the loop and waits for it.
func OnLoop(t netiotest.TB, l netio.Loop, f func()) {
	t.Helper()
	done := make(chan struct{})
	if !l.Post(func() { defer close(done); f() }) {
		t.Fatalf("Post: got false, want true")
	}
	Next(t, "posted function", done)
}

// WaitFor waits until the loop finds a condition true.
func WaitFor(t netiotest.TB, l netio.Loop, what string, condition func() bool) {
	t.Helper()
	for began := time.Now(); ; {
		met := false
		OnLoop(t, l, func() { met = condition() })
		if met {
			return
		}
		if time.Since(began) > Patience {
			t.Fatalf("%s: got nothing for %v, want it", what, Patience)
		}
	}
}
