// SPDX-License-Identifier: Apache-2.0

package bus

import (
	"context"
	"testing"

	"tagbus/tags"
)

// BenchmarkTake is the way of messages from the transport to a goroutine that takes them, without the
// transport: the same page again and again, read when all of it has come. One op is a message.
func BenchmarkTake(b *testing.B) {
	lossy := Policy{Kind: DropOldest}
	for _, x := range []struct {
		name   string
		tags   int
		config SubscriptionConfig
		take   func(context.Context, *Subscription, int) error
	}{
		{"messages", 1, SubscriptionConfig{}, takeMessages},
		{"messages/tags=1000", 1000, SubscriptionConfig{}, takeMessages},
		{"messages/lossy", 1, SubscriptionConfig{Policy: lossy}, takeMessages},
		{"messages/batches", 1, SubscriptionConfig{Batches: true}, takeMessages},
		{"batches", 1, SubscriptionConfig{Batches: true}, takeBatches()},
		{"batches/tags=1000", 1000, SubscriptionConfig{Batches: true}, takeBatches()},
		{"batches/lossy", 1, SubscriptionConfig{Batches: true, Policy: lossy}, takeBatches()},
		{"rows", 1, SubscriptionConfig{Batches: true}, takeRows()},
		{"rows/tags=1000", 1000, SubscriptionConfig{Batches: true}, takeRows()},
	} {
		b.Run(x.name, func(b *testing.B) {
			cfg := SubscriberConfig{Receiving: Receiving{QueueBytes: 8 << 20}}
			cfg.HeartbeatInterval = HeartbeatsOff // they would say that more has come than was published
			s, instance := benchSubscriber(b, cfg)
			set, err := tags.Range(1, tags.Tag(x.tags))
			must(b, err)
			sub, err := s.SubscribeWith(set, nil, x.config)
			must(b, err)
			must(b, sub.Wait(b.Context()))
			page, messages := benchPage(40, x.tags)
			came := make(chan struct{})
			give := func() {
				subscriberOf(s).sources[instance].onData(page)
				came <- struct{}{}
			}
			b.SetBytes(40)
			b.ReportAllocs()
			for n := -messages; n < b.N; n += messages { // the first page finds the tags
				if n == 0 {
					b.ResetTimer()
				}
				subscriberOf(s).loop.Post(give)
				<-came
				must(b, x.take(b.Context(), sub, messages))
			}
		})
	}
}

// taken bytes, so that no loop body is empty.
var taken int

func takeMessages(ctx context.Context, sub *Subscription, left int) error {
	for m, err := range sub.Messages(ctx) {
		if err != nil {
			return err
		}
		taken += len(m.Data)
		if left--; left == 0 {
			break
		}
	}
	return nil
}

func takeBatches() func(context.Context, *Subscription, int) error {
	var all []Message
	return func(_ context.Context, sub *Subscription, left int) error {
		for left > 0 {
			batch, err := sub.TakeBatch()
			if err != nil {
				return err
			}
			all = batch.AppendTo(all[:0])
			for i := range all {
				taken += len(all[i].Data)
			}
			left -= batch.Len()
			batch.Release()
		}
		return nil
	}
}

func takeRows() func(context.Context, *Subscription, int) error {
	var rows []Row
	return func(_ context.Context, sub *Subscription, left int) error {
		for left > 0 {
			batch, err := sub.ReadBatch()
			if err != nil {
				return err
			}
			n := batch.Len()
			if n > len(rows) {
				rows = make([]Row, n)
			}
			batch.Rows(rows)
			for i := range rows[:n] {
				taken += int(rows[i].Size)
			}
			left -= n
			batch.Release()
		}
		return nil
	}
}
