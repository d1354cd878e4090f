// SPDX-License-Identifier: Apache-2.0

package site_test

import (
	"net/netip"
	"os"
	"runtime/debug"
	"strconv"
	"strings"
	"testing"

	"tagbus/bus"
	"tagbus/bus/directory/memory"
	"tagbus/internal/testkit"
	"tagbus/node"
	"tagbus/tags"
)

// TestWhatAConnectionOfTCPTakes measures the memory of both sides of a connection, what the
// process has of the system for buffers included and what the system has for sockets not.
func TestWhatAConnectionOfTCPTakes(t *testing.T) {
	if testkit.Race {
		t.Skip("the race detector takes memory of its own")
	}
	const each, most = 20, 256 << 10 // bytes for a connection
	dir := memory.New()
	open := func() *node.Node {
		n, err := node.Open(node.Config{Directory: dir})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := n.Close(); err != nil {
				t.Error(err)
			}
		})
		return n
	}
	for i := range each {
		p, err := open().NewPublisher(bus.PublisherConfig{Tags: tags.Of(tag(t, i, 0, 0))})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { closing(t, p.Close) })
	}
	var subscribers []*bus.Subscriber
	acknowledged := make(chan netip.AddrPort, each*each)
	for range each {
		s, err := open().NewSubscriber(bus.SubscriberConfig{Common: bus.Common{OnEvent: func(e bus.Event) {
			if e.Kind == bus.Subscribed {
				acknowledged <- e.Peer.Addr
			}
		}}})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { closing(t, s.Close) })
		subscribers = append(subscribers, s)
	}
	inHeap, resident := heap(), residentBytes(t)
	for _, s := range subscribers {
		if _, err := s.Subscribe(firstELinks(t), func(bus.Message) {}); err != nil {
			t.Fatal(err)
		}
	}
	for range each * each {
		<-acknowledged
	}
	got := (residentBytes(t) - resident) / (each * each)
	t.Logf("a connection of TCP, both sides: %d bytes of the heap, %d bytes resident", (heap()-inHeap)/(each*each), got)
	if got > most {
		t.Errorf("got %d resident bytes for a connection, want at most %d", got, most)
	}
}

func closing(t *testing.T, f func() error) {
	t.Helper()
	if err := f(); err != nil {
		t.Error(err)
	}
}

// residentBytes returns the memory that this process has of the system and needs.
func residentBytes(t *testing.T) int {
	t.Helper()
	debug.FreeOSMemory()
	text, err := os.ReadFile("/proc/self/statm")
	fields := strings.Fields(string(text))
	if err != nil || len(fields) < 2 {
		t.Fatalf("got %q, %v, want the memory of this process", text, err)
	}
	pages, err := strconv.Atoi(fields[1])
	if err != nil {
		t.Fatal(err)
	}
	return pages * os.Getpagesize()
}
