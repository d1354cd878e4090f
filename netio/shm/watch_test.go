// SPDX-License-Identifier: Apache-2.0

//go:build linux

package shm_test

import (
	"testing"

	"tagbus/internal/testkit/backendtest"
	"tagbus/netio"
	"tagbus/netio/reactor"
	"tagbus/netio/shm"
)

// A loop that spins looks at the memory of the other side: no descriptor becomes ready for a message.
func TestALoopThatSpinsIsNotWoken(t *testing.T) {
	const rounds = 1000
	s := serve(t, shm.Config{}, netio.Params{})
	answer := func(ep netio.Endpoint, data []byte) {
		if _, err := ep.SendDirect(1, nil, data); err != nil {
			t.Errorf("SendDirect: got error %v, want none", err)
		}
	}
	s.AtData = answer
	w, done, n := newWatcher(), make(chan struct{}), 0
	w.AtData = func(ep netio.Endpoint, data []byte) {
		if n++; n == rounds {
			close(done)
			return
		}
		answer(ep, data)
	}
	b, runner := backendtest.Open(t, reactor.Config{BusyPoll: backendtest.Patience}, w, opener(shm.Config{Folder: s.folder}))
	if err := b.OpenEndpoint(s.l.Addr(), netio.Params{}); err != nil {
		t.Fatalf("OpenEndpoint: got error %v, want none", err)
	}
	ep := next(t, "OnConnectionEstablished", w.Established)
	next(t, "OnConnectionEstablished", s.Established)
	before := runner.Stats().Events
	answer(ep, []byte("to and fro"))
	next(t, "the last answer", done)
	if events := runner.Stats().Events - before; events > rounds/10 {
		t.Errorf("got %d events of descriptors for %d messages, want next to none", events, rounds)
	}
}
