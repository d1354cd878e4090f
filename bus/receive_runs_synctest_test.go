// SPDX-License-Identifier: Apache-2.0

package bus_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"tagbus/bus"
	"tagbus/tags"
)

// runs publishes messages of two tags in one page: runs of plain ones, and some with a
// status between them. It returns what a subscriber is to see.
func runs(tb testing.TB, p *publisher) (want []string) {
	tb.Helper()
	counters := make(map[tags.Tag]int)
	for i, kind := range "aaaabbaAabbbBBbaaaaaAbab" {
		tag, status := tags.Tag(1), bus.Status(0)
		if kind == 'b' || kind == 'B' {
			tag = 2
		}
		if kind < 'a' {
			status = 7
		}
		data := fmt.Sprintf("%0*d", i%5, i)
		must(tb, p.PublishStatus(tag, status, []byte(data)))
		counters[tag]++
		want = append(want, fmt.Sprintf("%d#%d/%d %s", uint64(tag), counters[tag], status, data))
	}
	p.Flush()
	return want
}

func withStatus(m bus.Message) string {
	return fmt.Sprintf("%d#%d/%d %s", uint64(m.Tag), m.Counter, m.Status, m.Data)
}

// TestSubscription_everyWayToReceiveSeesTheSame compares the ways that take messages in runs with the
// handler, which takes them one by one.
func TestSubscription_everyWayToReceiveSeesTheSame(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t)
		p := b.publisher(bus.PublisherConfig{Tags: tags.Of(1, 2), Sending: bus.Sending{FlushInterval: time.Hour, PageBytes: 4096}})
		var handled, batched, read []string
		s, other, third := b.subscriber(bus.SubscriberConfig{}), b.subscriber(bus.SubscriberConfig{}), b.subscriber(bus.SubscriberConfig{})
		subscribe(t, s, tags.Of(1, 2), func(m bus.Message) { handled = append(handled, withStatus(m)) })
		batch, err := other.SubscribeBatch(tags.Of(1, 2), func(batch []bus.Message) {
			for _, m := range batch {
				batched = append(batched, withStatus(m))
			}
		}, bus.SubscriptionConfig{})
		must(t, err)
		must(t, batch.Wait(t.Context()))
		queue := subscribe(t, third, tags.Of(1, 2), nil)
		want := runs(t, p)
		synctest.Wait()
		var kept []bus.Message
		for len(read) < len(want) { // breaking off after each loses nothing
			for m, err := range queue.Messages(t.Context()) {
				must(t, err)
				read = append(read, withStatus(m))
				must(t, m.Retain())
				kept = append(kept, m)
				break
			}
		}
		for name, got := range map[string][]string{"handler": handled, "batch": batched, "messages": read} {
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s: got (+) and want (-)\n%s", name, diff)
			}
		}
		runs(t, p)
		synctest.Wait()
		for i, m := range kept { // beyond the next page
			if got := withStatus(m); got != want[i] {
				t.Errorf("kept message %d: got %s, want %s", i, got, want[i])
			}
			m.Release()
		}
		for name, x := range map[string]*subscriber{"handler": s, "batch": other, "messages": third} {
			if got, sent := x.Stats().Messages, uint64(2*len(want)); got != sent {
				t.Errorf("%s: got %d messages counted, want %d", name, got, sent)
			}
		}
	})
}
