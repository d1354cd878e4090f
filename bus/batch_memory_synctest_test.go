// SPDX-License-Identifier: Apache-2.0

package bus_test

import (
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"tagbus/bus"
	"tagbus/tags"
)

// TestBatchHandler_aBatchTakesTheMemoryOfItsMessages: many subscriptions with a BatchHandler get a few
// messages each of a page. Each of them made room for all that were left of the page.
func TestBatchHandler_aBatchTakesTheMemoryOfItsMessages(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const subscriptions, each = 200, 20
		b := newBed(t)
		all, err := tags.Range(1, subscriptions)
		must(t, err)
		p := b.publisher(bus.PublisherConfig{Tags: all, Sending: bus.Sending{FlushInterval: time.Hour}})
		s := b.subscriber(bus.SubscriberConfig{})
		got := 0
		for tag := range tags.Tag(subscriptions) {
			sub, err := s.SubscribeBatch(tags.Of(tag+1), func(batch []bus.Message) { got += len(batch) }, bus.SubscriptionConfig{})
			must(t, err)
			must(t, sub.Wait(t.Context()))
		}
		heap := func() uint64 {
			runtime.GC()
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			return m.HeapAlloc
		}
		before := heap()
		for range each {
			for tag := range tags.Tag(subscriptions) {
				must(t, p.Publish(tag+1, []byte("x")))
			}
		}
		p.Flush()
		synctest.Wait()
		if got != each*subscriptions {
			t.Errorf("got %d messages, want %d", got, each*subscriptions)
		}
		const want = 10 << 20 // some hundred bytes for each message would be 1 MB
		if after := heap(); after > before+want {
			t.Errorf("memory after %d messages: got %d KiB more, want at most %d", got, (after-before)>>10, want>>10)
		}
		runtime.KeepAlive(s)
	})
}
