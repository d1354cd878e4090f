// SPDX-License-Identifier: Apache-2.0

package bus_test

import (
	"bytes"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"tagbus/bus"
	"tagbus/tags"
)

// text returns what is in a batch.
func text(batch []bus.Message) (all []string) {
	for _, m := range batch {
		all = append(all, fmt.Sprintf("%d#%d %s", uint64(m.Tag), m.Counter, m.Data))
	}
	return all
}

func TestBatchHandler_aBatchIsThePage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t)
		p := b.publisher(bus.PublisherConfig{Tags: tags.Of(1, 2, 3), Sending: bus.Sending{FlushInterval: time.Hour, PageBytes: 1024}})
		s := b.subscriber(bus.SubscriberConfig{})
		var batches [][]string
		sub, err := s.SubscribeBatch(tags.Of(1, 2), func(batch []bus.Message) { batches = append(batches, text(batch)) }, bus.SubscriptionConfig{})
		must(t, err)
		special, other := newCollector(), newCollector()
		must(t, sub.Handle(2, special.handle))
		subscribe(t, s, tags.Of(1, 3), other.handle)
		must(t, sub.Wait(t.Context()))
		for i := range 3 {
			for tag := range tags.Tag(3) {
				must(t, p.Publish(tag+1, fmt.Append(nil, i)))
			}
		}
		p.Flush()
		must(t, p.Publish(1, []byte("alone")))
		must(t, p.Drain(t.Context()))
		synctest.Wait()
		want := [][]string{{"1#1 0", "1#2 1", "1#3 2"}, {"1#4 alone"}}
		if diff := cmp.Diff(want, batches); diff != "" {
			t.Errorf("batches: got (+) and want (-)\n%s", diff)
		}
		if special.count() != 3 || other.count() != 7 {
			t.Errorf("handlers beside: got %d and %d messages, want 3 and 7", special.count(), other.count())
		}
	})
}

func TestBatchHandler_aBatchMayBeRetained(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t)
		p := b.publisher(bus.PublisherConfig{Tags: tags.Of(1)})
		s := b.subscriber(bus.SubscriberConfig{})
		var all []kept
		sub, err := s.SubscribeBatch(tags.Of(1), func(batch []bus.Message) {
			for _, m := range batch {
				k := kept{m, bytes.Clone(m.Data)}
				must(t, k.m.Retain())
				all = append(all, k)
			}
		}, bus.SubscriptionConfig{})
		must(t, err)
		must(t, sub.Wait(t.Context()))
		for i := range 100 {
			must(t, p.Publish(1, fmt.Appendf(nil, "message %d", i)))
		}
		must(t, p.Drain(t.Context()))
		synctest.Wait()
		checkKept(t, all)
		if len(all) != 100 {
			t.Errorf("got %d messages, want 100", len(all))
		}
		for i := range all {
			all[i].m.Release()
		}
	})
}

func TestBatchHandler_thatPanicsCostsOnlyItself(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t)
		p := b.publisher(bus.PublisherConfig{Tags: tags.Of(1), Sending: bus.Sending{FlushInterval: time.Hour}})
		s := b.subscriber(bus.SubscriberConfig{})
		calls, after := 0, 0
		first, err := s.SubscribeBatch(tags.Of(1), func([]bus.Message) {
			if calls++; calls == 1 {
				panic("first page")
			}
		}, bus.SubscriptionConfig{})
		must(t, err)
		second, err := s.SubscribeBatch(tags.Of(1), func(batch []bus.Message) { after += len(batch) }, bus.SubscriptionConfig{})
		must(t, err)
		must(t, first.Wait(t.Context()))
		must(t, second.Wait(t.Context()))
		for range 2 {
			must(t, p.Publish(1, []byte("a")))
			must(t, p.Publish(1, []byte("b")))
			p.Flush()
		}
		must(t, p.Drain(t.Context()))
		synctest.Wait()
		if calls != 2 || after != 4 {
			t.Errorf("got %d calls and %d messages beside, want 2 and 4", calls, after)
		}
		problems := s.of(bus.Problem)
		var panicked *bus.PanicError
		if len(problems) != 1 || !errors.As(problems[0].Err, &panicked) || panicked.Tag != 1 || panicked.Value != "first page" {
			t.Errorf("events: got %v, want one of the panic", problems)
		}
		if got := s.Stats(); got.Panics != 1 || got.Messages != 4 {
			t.Errorf("got %d panics and %d messages, want 1 and 4", got.Panics, got.Messages)
		}
	})
}

func TestBatchHandler_ofAClosedSubscriptionGetsNothingMore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t)
		p := b.publisher(bus.PublisherConfig{Tags: tags.Of(1), Sending: bus.Sending{FlushInterval: time.Hour}})
		s := b.subscriber(bus.SubscriberConfig{})
		got := 0
		var sub *bus.Subscription
		sub, err := s.SubscribeBatch(tags.Of(1), func(batch []bus.Message) {
			got += len(batch)
			must(t, sub.Close())
		}, bus.SubscriptionConfig{})
		must(t, err)
		must(t, sub.Wait(t.Context()))
		for _, err := range sub.Messages(t.Context()) {
			if !errors.Is(err, bus.ErrHasHandler) {
				t.Errorf("iterate beside a batch handler: got error %v, want %v", err, bus.ErrHasHandler)
			}
		}
		for range 3 {
			must(t, p.Publish(1, []byte("a")))
			p.Flush()
		}
		must(t, p.Drain(t.Context()))
		synctest.Wait()
		if got != 1 {
			t.Errorf("got %d messages, want the 1 before the close", got)
		}
	})
}
