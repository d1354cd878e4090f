// SPDX-License-Identifier: Apache-2.0

package handover_test

import (
	"net/netip"
	"runtime"
	"strconv"
	"sync/atomic"
	"testing"

	"tagbus/internal/testkit/backendtest"
	"tagbus/netio"
	"tagbus/netio/internal/handover"
	"tagbus/netio/reactor"
)

// transport is a backend without endpoints, whose End the test decides.
type transport struct {
	handover.Backend
	atEnd       func()
	ends, frees atomic.Int32
}

func (b *transport) Name() string { return "test" }

func (b *transport) PrepareWait() bool {
	b.Turn.Lock()
	defer b.Turn.Unlock()
	b.List.Refill()
	for b.List.Left() > 0 {
		b.List.Take().Work()
	}
	return true
}

func (b *transport) Listen(netip.AddrPort, *netio.Params) (handover.Listener, error) {
	return nil, netio.ErrInvalidAddress
}
func (b *transport) Dial(netip.AddrPort, *netio.Params) error { return netio.ErrInvalidAddress }
func (b *transport) Resume()                                  {}
func (b *transport) Free()                                    { b.frees.Add(1) }

func (b *transport) End() {
	if b.ends.Add(1) == 1 && b.atEnd != nil {
		b.atEnd()
	}
}

func created(*testing.T, *backendtest.Runner) {}

func running(t *testing.T, r *backendtest.Runner) {
	r.Start()
	backendtest.OnLoop(t, r, func() {})
}

// TestCloseAtAnyMomentInTheLifeOfItsLoop returns, and releases all once.
func TestCloseAtAnyMomentInTheLifeOfItsLoop(t *testing.T) {
	tests := []struct {
		name  string
		atEnd func()
		life  func(*testing.T, *backendtest.Runner) // until Close is called
		end   func(*backendtest.Runner)             // meanwhile
		ends  int32
	}{
		{name: "before Run", life: created, ends: 1},
		{name: "while it begins", life: created, end: (*backendtest.Runner).Start, ends: 1},
		{name: "while it runs", life: running, ends: 1},
		{name: "while it ends", life: running, end: func(r *backendtest.Runner) { r.Stop() }, ends: 1},
		{name: "that End ends", atEnd: runtime.Goexit, life: running, ends: 2},
		{name: "after its end", life: func(t *testing.T, r *backendtest.Runner) { running(t, r); r.End(t) }, ends: 1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			for try := range 50 {
				t.Run(strconv.Itoa(try), func(t *testing.T) {
					r := backendtest.NewRunner(t, reactor.Config{OnPanic: func(*reactor.Panic) {}})
					b := &transport{atEnd: tt.atEnd}
					if err := b.Open(r.EventLoop, netio.NopHandler{}, netio.Config{}, b); err != nil {
						t.Fatalf("Open: got error %v, want none", err)
					}
					tt.life(t, r)
					closed := make(chan error, 1)
					go func() { closed <- b.Close() }()
					if tt.end != nil {
						tt.end(r)
					}
					if err := backendtest.Next(t, "Close", closed); err != nil {
						t.Errorf("Close: got error %v, want none", err)
					}
					if ends, frees := b.ends.Load(), b.frees.Load(); ends != tt.ends || frees != 1 {
						t.Errorf("got %d calls of End and %d of Free, want %d and 1", ends, frees, tt.ends)
					}
					r.Stop()
					if r.Running() {
						<-r.Done()
					}
					_ = r.Close() // says so if a callback has ended it
				})
			}
		})
	}
}
