// SPDX-License-Identifier: Apache-2.0

package bus_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"

	"tagbus/bus"
	"tagbus/tags"
)

// BenchmarkOneTagSubscriptions measures many small subscriptions on one
// connection: subscribe, a message of each tag, unsubscribe. The time per
// subscription must not grow with their number.
func BenchmarkOneTagSubscriptions(b *testing.B) {
	for _, n := range []int{1000, 2000, 4000, 8000, 16000} {
		b.Run(fmt.Sprintf("subscriptions=%d", n), func(b *testing.B) {
			for b.Loop() {
				oneTagSubscriptions(b, n)
			}
			b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N*n), "µs/subscription")
		})
	}
}

func oneTagSubscriptions(tb testing.TB, n int) {
	tb.Helper()
	bed := newBed(tb)
	p := bed.publisher(bus.PublisherConfig{Tags: tags.Everything()})
	s := bed.subscriber(bus.SubscriberConfig{})
	ctx := context.Background()
	var received atomic.Int64
	all := make(chan struct{})
	subs := make([]*bus.Subscription, n)
	for i := range subs {
		var err error
		subs[i], err = s.Subscribe(tags.Of(tags.Tag(3*i)), func(bus.Message) {
			if received.Add(1) == int64(n) {
				close(all)
			}
		})
		must(tb, err)
	}
	for _, sub := range subs {
		must(tb, sub.Wait(ctx))
	}
	for i := range subs {
		must(tb, p.PublishContext(ctx, tags.Tag(3*i), nil))
	}
	<-all
	for _, sub := range subs[1:] {
		must(tb, sub.Close())
	}
	must(tb, subs[0].Unsubscribe(ctx)) // answered after the others
	must(tb, s.Close())
	must(tb, p.Close())
}
