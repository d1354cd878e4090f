// SPDX-License-Identifier: Apache-2.0

//go:build linux

package shm_test

import (
	"errors"
	"testing"

	"tagbus/internal/testkit/backendtest"
	"tagbus/netio"
	"tagbus/netio/reactor"
	"tagbus/netio/shm"
)

// TestCallbackThatPanicsEndsItsEndpoint: the loop goes on, and so do the others.
func TestCallbackThatPanicsEndsItsEndpoint(t *testing.T) {
	dir := folder(t)
	w := newWatcher()
	panicked := make(chan struct{}, 1)
	cfg := reactor.Config{OnPanic: func(*reactor.Panic) { panicked <- struct{}{} }}
	b, _ := backendtest.Open(t, cfg, w, opener(shm.Config{Folder: dir}))
	l, err := b.OpenListenEndpoint(loopback(), netio.Params{})
	if err != nil {
		t.Fatalf("OpenListenEndpoint: got error %v, want none", err)
	}
	s := &served{Watcher: w, b: b, l: l, folder: dir}
	s.AtData = func(_ netio.Endpoint, data []byte) {
		if string(data) == "panic" {
			panic("a handler that panics")
		}
	}
	p, _ := s.greet(t)
	p.Put(inline("panic"))
	next(t, "OnData", s.Data)
	next(t, "OnPanic", panicked)
	if end := next(t, "OnConnectionClosed", s.Closed); !errors.Is(end.Cause, shm.ErrCallbackPanicked) {
		t.Errorf("cause: got %v, want %v", end.Cause, shm.ErrCallbackPanicked)
	}
	s.isWell(t)
}
