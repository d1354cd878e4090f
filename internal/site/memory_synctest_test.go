// SPDX-License-Identifier: Apache-2.0

package site_test

import (
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"tagbus/internal/testkit"
	"tagbus/tags"
)

// TestWhatThingsTake measures the memory of the garbage-collected heap for each publisher,
// each entry that a subscriber knows, each connection, and each range that a subscription
// has. Memory of buffers is outside of the heap; docs/scaling.md adds it.
func TestWhatThingsTake(t *testing.T) {
	if testkit.Race {
		t.Skip("the race detector takes memory of its own")
	}
	synctest.Test(t, func(t *testing.T) {
		const publishers, consumers = 100, 50
		s := newSite(t, plan{hosts: publishers, processes: 1})
		before := heap()
		measure := func(what string, n, most int, f func()) {
			t.Helper()
			f()
			time.Sleep(time.Second)
			after := heap()
			each := (after - before) / n
			t.Logf("%-50s %7d bytes", what, each)
			if each > most {
				t.Errorf("%s: got %d bytes, want at most %d", what, each, most)
			}
			before = after
		}
		measure("a publisher with 48 tags", publishers, 200<<10, s.open)
		s.consumers = make([]*consumer, consumers)
		none := reading{name: "none", set: tags.Of(0)}
		measure("a subscriber that knows 100 entries, for each", publishers*consumers, 8<<10, func() {
			for i := range s.consumers {
				s.openConsumer(i, none)
			}
		})
		measure("a connection, both sides, a pattern subscribed", publishers*consumers, 64<<10, func() {
			for _, c := range s.consumers {
				if _, err := c.Subscribe(firstELinks(t), c.handle); err != nil {
					t.Fatal(err)
				}
			}
		})
		var list []tags.Tag
		for host := range rackHosts {
			for link := range linksPerHost {
				list = append(list, tag(t, host, link, 1))
			}
		}
		ranges := rackHosts * consumers * len(list) // at the publishers that have some of the tags
		measure("a range of a subscription, at each publisher that has some of its tags", ranges, 512, func() {
			for _, c := range s.consumers {
				if _, err := c.Subscribe(tags.Of(list...), c.handle); err != nil {
					t.Fatal(err)
				}
			}
		})
		s.close()
	})
}

// heap returns how many bytes are in use.
func heap() int {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int(m.HeapAlloc)
}
