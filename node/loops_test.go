// SPDX-License-Identifier: Apache-2.0

package node_test

import (
	"runtime"
	"sync/atomic"
	"testing"

	"tagbus/bus"
	"tagbus/internal/testkit"
	"tagbus/netio/reactor"
	"tagbus/node"
	"tagbus/tags"
)

// TestNode_severalLoops: loops share out the subscribers of a publisher, and those of a node.
// Everything arrives in order, and costs no allocation.
func TestNode_severalLoops(t *testing.T) {
	const subscribers, warmUp = 6, 5_000
	total := uint64(50_000)
	dir := t.TempDir()
	var inits atomic.Int32
	// A report of a stall, as on a machine that is emulated, allocates.
	loop := reactor.Config{Init: func() { inits.Add(1) }, StallLimit: -1}
	p, err := openNodeWith(t, node.Config{Bus: dir, Backend: backend, Loop: loop, Loops: 3}).NewPublisher(bus.PublisherConfig{Tags: tags.Of(1), Listening: bus.Listening{Listen: listen()}, Sending: bus.Sending{MaxMessageBytes: 300_000}})
	if err != nil {
		t.Fatal(err)
	}
	receiving := openNodeWith(t, node.Config{Bus: dir, Backend: backend, Loop: reactor.Config{StallLimit: -1}, Loops: 2})
	arrived := make(chan struct{}, 2*subscribers)
	var running atomic.Int32 // handlers
	for i := range subscribers {
		s, err := receiving.NewSubscriber(bus.SubscriberConfig{Dialing: bus.Dialing{Unlisted: true}})
		if err != nil {
			t.Fatal(err)
		}
		var got uint64
		if _, err := s.Subscribe(tags.Of(1), func(m bus.Message) {
			if running.Add(1) != 1 {
				t.Error("two handlers of a node run at a time")
			}
			if got++; m.Counter != got || len(m.Data) != payloadBytes(got) {
				t.Errorf("subscriber %d: got message %d of %d bytes, want %d of %d", i, m.Counter, len(m.Data), got, payloadBytes(got))
			}
			if got == warmUp || got == total {
				arrived <- struct{}{}
			}
			running.Add(-1)
		}); err != nil {
			t.Fatal(err)
		}
	}
	if err := p.WaitSubscribers(t.Context(), subscribers, tags.Of(1)); err != nil {
		t.Fatal(err)
	}
	payload := make([]byte, 300_000)
	publish := func(from, to uint64) {
		for i := from + 1; i <= to; i++ {
			if err := p.PublishContext(t.Context(), 1, payload[:payloadBytes(i)]); err != nil {
				t.Fatal(err)
			}
		}
		p.Flush()
		for range subscribers {
			<-arrived
		}
	}
	publish(0, warmUp)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	publish(warmUp, total)
	runtime.ReadMemStats(&after)
	if n := after.Mallocs - before.Mallocs; n > (total-warmUp)/50 && !testkit.Race {
		t.Errorf("%d allocations for %d messages, want none per message", n, total-warmUp)
	}
	if got := inits.Load(); got != 1 {
		t.Errorf("Loop.Init: got %d calls, want 1, on the loop of the callbacks", got)
	}
}

// payloadBytes is the size of message i: now and then one that is larger than a page.
func payloadBytes(i uint64) int {
	if i%5_000 == 0 {
		return 300_000
	}
	return int(i % 200)
}
