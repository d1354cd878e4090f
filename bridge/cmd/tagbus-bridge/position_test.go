// SPDX-License-Identifier: Apache-2.0

package main_test

import (
	"encoding/binary"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"tagbus/bridge/internal/natsserver"
	"tagbus/bus"
	"tagbus/tags"
)

// seen counts how often each message has come.
type seen struct {
	mu  sync.Mutex
	all map[uint64]int
}

// await waits until messages up to a number have come, and returns how often each has.
func (s *seen) await(t *testing.T, last uint64) map[uint64]int {
	t.Helper()
	look := time.NewTicker(5 * time.Millisecond)
	defer look.Stop()
	for {
		s.mu.Lock()
		n, copied := uint64(len(s.all)), maps.Clone(s.all)
		s.mu.Unlock()
		if n >= last {
			return copied
		}
		select {
		case <-look.C:
		case <-time.After(time.Minute):
			t.Fatalf("got %d of %d messages in a minute", n, last)
		}
	}
}

// TestAPositionIsKept: a bridge that ends in order publishes each message once, and one that is killed leaves none out.
func TestAPositionIsKept(t *testing.T) {
	server := natsserver.Start(t)
	makeStream(t, server.URL)
	here, there, file := t.TempDir(), t.TempDir(), filepath.Join(t.TempDir(), "position")
	set := tags.Of(1)
	p, _ := publisher(t, here, bus.PublisherConfig{Tags: set})
	published := uint64(0)
	publish := func(n int) {
		for range n {
			published++
			must(t, p.PublishContext(t.Context(), 1, binary.BigEndian.AppendUint64(nil, published)))
		}
		p.Flush()
	}
	s := &seen{all: make(map[uint64]int)}
	sub, err := open(t, there).NewSubscriber(bus.SubscriberConfig{})
	must(t, err)
	_, err = sub.Subscribe(set, func(m bus.Message) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.all[binary.BigEndian.Uint64(m.Data)]++
	})
	must(t, err)
	out := start(t, "out", "--bus", here, "--backend", "tcp", "--nats", server.URL, "--stream", "TAGBUS", "--tags", "1", "--json")
	in := []string{"in", "--bus", there, "--backend", "tcp", "--nats", server.URL, "--stream", "TAGBUS", "--follow", "--from", "1", "--position", file, "--json"}
	must(t, p.WaitSubscribers(t.Context(), 1, set))
	for range 2 { // what comes between two runs, too
		publish(1000)
		bridge := start(t, in...)
		s.await(t, published)
		publish(500)
		for n, times := range s.await(t, published) {
			if times != 1 {
				t.Errorf("got message %d %d times, want once", n, times)
			}
		}
		must(t, bridge.Process.Signal(syscall.SIGTERM))
		if code, sum := bridge.wait(t); code != 0 || sum["messages"] != 1500. {
			t.Errorf("got status %d and %v, want 0 and 1500 messages; it said\n%s", code, sum, bridge.err.String())
		}
	}
	bridge := start(t, in...)
	for n := range uint64(20) {
		publish(500)
		if n == 10 {
			s.await(t, published-2000)
			must(t, bridge.Process.Kill())
			_, _ = bridge.wait(t)
			bridge = start(t, in...)
		}
	}
	s.await(t, published)
	must(t, p.Close())
	for _, end := range []*program{bridge, out} {
		must(t, end.Process.Signal(syscall.SIGTERM))
		if code, sum := end.wait(t); code != 0 {
			t.Errorf("got status %d and %v, want 0; it said\n%s", code, sum, end.err.String())
		}
	}
	must(t, os.WriteFile(file, []byte(`{"log":"stream OTHER"}`), 0o600))
	other := start(t, in...)
	want := "--position " + file + " is one of stream OTHER, and not of stream TAGBUS: name another file, or remove this one to begin where --from says"
	if code, _ := other.wait(t); code != 1 || !strings.Contains(other.out.String()+other.err.String(), want) {
		t.Errorf("got status %d and %s%s, want 1 and %q", code, other.out.String(), other.err.String(), want)
	}
}
