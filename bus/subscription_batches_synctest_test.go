// SPDX-License-Identifier: Apache-2.0

package bus_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"testing"
	"testing/synctest"

	"tagbus/bus"
	"tagbus/netio"
	"tagbus/tags"
)

// batched opens a publisher and a subscription that keeps batches.
func batched(t *testing.T, b *bed, queue int, sub bus.SubscriberConfig, cfg bus.SubscriptionConfig) (*publisher, *subscriber, *bus.Subscription) {
	t.Helper()
	p := b.publisher(bus.PublisherConfig{Tags: tags.Of(1, 2), Sending: bus.Sending{PageBytes: 8192, MaxMessageBytes: 8000, QueueBytes: queue}})
	s := b.subscriber(sub)
	cfg.Batches = true
	in, err := s.SubscribeWith(tags.Of(1, 2), nil, cfg)
	must(t, err)
	must(t, in.Wait(t.Context()))
	return p, s, in
}

// numbered is what publishNumbered publishes as message i.
func numbered(i int) []byte { return bytes.Repeat(fmt.Appendf(nil, "%d.", i), 1+i*37%500) }

func TestSubscription_Batches_areWhatCame(t *testing.T) {
	shared := netio.Config{SharedReceive: netio.SharedBuffers{Buffers: 2, BufferBytes: 1 << 20}}
	for _, test := range []struct {
		name   string
		config netio.Config
		policy bus.Policy
		keep   bool
	}{
		{"in the memory of the transport", netio.Config{}, bus.Policy{}, false},
		{"kept in the memory of the transport", netio.Config{}, bus.Policy{}, true},
		{"kept in a copy", shared, bus.Policy{}, true},
		{"kept, of a policy that may lose messages", netio.Config{}, bus.Policy{Kind: bus.DropOldest}, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				const n = 2000
				b := newBed(t)
				b.config = test.config
				p, s, in := batched(t, b, 8<<20, bus.SubscriberConfig{Receiving: bus.Receiving{RetainBytes: 1 << 30}}, bus.SubscriptionConfig{Policy: test.policy})
				drained := make(chan error, 1)
				go func() {
					publishNumbered(t, p, n)
					drained <- p.Drain(t.Context())
				}()
				var all []bus.Message
				var kept []bus.Batch
				for batch, err := range in.Batches(t.Context()) {
					must(t, err)
					begin := len(all)
					all = batch.AppendTo(all)
					if got := len(all) - begin; got != batch.Len() || got == 0 {
						t.Fatalf("got %d messages of a batch of %d", got, batch.Len())
					}
					if test.keep {
						must(t, batch.Retain())
						must(t, batch.Retain())
						kept = append(kept, batch)
					} else {
						for i := range all[begin:] {
							all[begin+i].Data = bytes.Clone(all[begin+i].Data)
						}
					}
					if len(all) == n {
						break
					}
				}
				must(t, <-drained)
				if got := s.Stats(); got.Retained != len(kept) || test.keep && got.RetainedBytes == 0 {
					t.Errorf("got %d batches of %d bytes retained, want %d", got.Retained, got.RetainedBytes, len(kept))
				}
				must(t, s.Close())
				for i, m := range all {
					if m.Tag != tags.Tag(1+i%2) || m.Counter != uint64(i/2+1) || !bytes.Equal(m.Data, numbered(i)) || m.Publisher.Instance != p.Instance() {
						t.Fatalf("message %d: got %d of tag %v, %.20q", i, m.Counter, m.Tag, m.Data)
					}
				}
				for _, k := range kept {
					k.Release()
					k.Release()
					if err := k.Retain(); !errors.Is(err, bus.ErrMessageOver) {
						t.Errorf("retained after release: got %v", err)
					}
				}
				if got := s.Stats(); got.Retained != 0 || got.RetainedBytes != 0 {
					t.Errorf("left: %d, %d bytes", got.Retained, got.RetainedBytes)
				}
			})
		})
	}
}

// TestSubscription_Batches_aSlowReaderStopsThePublisher, and loses nothing, with several readers.
func TestSubscription_Batches_aSlowReaderStopsThePublisher(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, _, in := batched(t, newBed(t), 64<<10, bus.SubscriberConfig{Receiving: bus.Receiving{QueueBytes: 20_000}}, bus.SubscriptionConfig{})
		data := make([]byte, 1000)
		sent := uint64(0)
		for refused := 0; refused < 2; {
			switch err := p.Publish(1, data); {
			case err == nil:
				sent++
			case errors.Is(err, bus.ErrNoResources):
				refused++
				synctest.Wait()
			default:
				t.Fatal(err)
			}
		}
		received := make(chan uint64)
		ctx, stop := context.WithCancel(t.Context())
		for range 3 {
			go func() {
				got := uint64(0)
				for batch, err := range in.Batches(ctx) {
					if err != nil {
						break
					}
					got += uint64(batch.Len())
				}
				received <- got
			}()
		}
		for range 500 {
			must(t, p.PublishContext(t.Context(), 2, data))
			sent++
		}
		p.Flush()
		synctest.Wait()
		stop()
		if got := <-received + <-received + <-received; got != sent {
			t.Errorf("three readers got %d messages, want %d", got, sent)
		}
	})
}

func TestSubscription_TakeBatch_tellsWhenThereIsSomething(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, s, in := batched(t, newBed(t), 64<<10, bus.SubscriberConfig{Receiving: bus.Receiving{RetainBytes: 20_000}}, bus.SubscriptionConfig{})
		told := 0
		in.NotifyBatches(func() { told++ })
		if _, err := in.TakeBatch(); !errors.Is(err, bus.ErrNoBatch) {
			t.Fatalf("nothing has come: got %v", err)
		}
		for range 20 {
			must(t, p.Publish(1, make([]byte, 7000)))
			p.Flush()
		}
		synctest.Wait()
		if told != 1 {
			t.Errorf("told %d times of what was not asked for again, want once", told)
		}
		var held []bus.Batch
		var err error
		for err == nil {
			var batch bus.Batch
			if batch, err = in.TakeBatch(); err == nil {
				held = append(held, batch)
			}
		}
		if !errors.Is(err, bus.ErrRetainLimit) || len(held) < 2 || len(held) > 10 {
			t.Fatalf("got %v with %d batches held, want the limit", err, len(held))
		}
		all := len(held)
		for _, batch := range held {
			batch.Release()
		}
		for all < 20 {
			batch, err := in.TakeBatch()
			must(t, err)
			all += batch.Len()
			batch.Release()
		}
		if _, err := in.TakeBatch(); !errors.Is(err, bus.ErrNoBatch) {
			t.Errorf("all is taken: got %v", err)
		}
		must(t, in.Close())
		synctest.Wait()
		if _, err := in.TakeBatch(); !errors.Is(err, io.EOF) || told != 2 {
			t.Errorf("closed: got %v, told %d times", err, told)
		}
		<-in.Ended()
		if got := s.Stats(); got.Retained != 0 || got.RetainedBytes != 0 {
			t.Errorf("left: %d, %d bytes", got.Retained, got.RetainedBytes)
		}
	})
}

func TestRetainBatch_countsOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t)
		p := b.publisher(bus.PublisherConfig{Tags: tags.Of(1, 2)})
		s := b.subscriber(bus.SubscriberConfig{})
		var kept []bus.Kept
		var all []bus.Message
		in, err := s.SubscribeBatch(tags.Of(1, 2), func(messages []bus.Message) {
			k, err := bus.RetainBatch(messages)
			must(t, err)
			kept = append(kept, k)
			all = append(all, messages...)
		}, bus.SubscriptionConfig{})
		must(t, err)
		must(t, in.Wait(t.Context()))
		publishNumbered(t, p, 500)
		must(t, p.Drain(t.Context()))
		synctest.Wait()
		if got := s.Stats().Retained; got != len(kept) {
			t.Errorf("got %d retained, want %d, one of each page", got, len(kept))
		}
		must(t, s.Close())
		for i, m := range all {
			if !bytes.Equal(m.Data, numbered(i)) {
				t.Fatalf("message %d: got %.20q", i, m.Data)
			}
		}
		for _, k := range kept {
			k.Release()
			k.Release()
		}
		if got := s.Stats(); got.Retained != 0 || got.RetainedBytes != 0 {
			t.Errorf("left: %d, %d bytes", got.Retained, got.RetainedBytes)
		}
		if _, err := bus.RetainBatch(all); !errors.Is(err, bus.ErrMessageOver) {
			t.Errorf("after the handler: got %v", err)
		}
	})
}

func TestSubscriber_SubscribePages(t *testing.T) {
	shared := netio.Config{SharedReceive: netio.SharedBuffers{Buffers: 2, BufferBytes: 1 << 20}}
	for _, test := range []struct {
		name   string
		config netio.Config
	}{{"in the memory of the transport", netio.Config{}}, {"in a copy", shared}} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				const n = 500
				b := newBed(t)
				b.config = test.config
				p := b.publisher(bus.PublisherConfig{Tags: tags.Of(1, 2), Sending: bus.Sending{PageBytes: 8192, MaxMessageBytes: 8000}})
				s := b.subscriber(bus.SubscriberConfig{})
				var kept []bus.Batch
				pages, first := 0, bus.Batch{}
				in, err := s.SubscribePages(tags.Of(1, 2), func(batch bus.Batch) {
					must(t, batch.Retain())
					kept = append(kept, batch)
					if pages++; pages == 1 {
						first = batch
					}
					if pages == 2 {
						panic("of the handler")
					}
				}, bus.SubscriptionConfig{})
				must(t, err)
				must(t, in.Wait(t.Context()))
				if _, err := in.TakeBatch(); !errors.Is(err, bus.ErrNotBatches) {
					t.Errorf("got %v", err)
				}
				publishNumbered(t, p, n)
				must(t, p.Drain(t.Context()))
				synctest.Wait()
				stats := s.Stats()
				if stats.Retained != len(kept) || stats.Panics != 1 {
					t.Errorf("got %d retained, %d panics, want %d, 1", stats.Retained, stats.Panics, len(kept))
				}
				must(t, s.Close())
				i := 0
				for _, k := range kept {
					rows := make([]bus.Row, k.Len())
					k.Rows(rows)
					for j, m := range k.AppendTo(nil) {
						if r := rows[j]; !bytes.Equal(m.Data, numbered(i)) || r.Tag != m.Tag || r.Counter != m.Counter || int(r.Size) != len(m.Data) {
							t.Fatalf("message %d: got %.20q, %+v", i, m.Data, rows[j])
						}
						i++
					}
					k.Release()
				}
				first.Release()
				if got := s.Stats(); i != n || got.Retained != 0 || got.RetainedBytes != 0 {
					t.Errorf("%d messages, left: %d, %d bytes", i, got.Retained, got.RetainedBytes)
				}
			})
		})
	}
}

func TestReceiver_takesBatches(t *testing.T) {
	for _, kept := range []bool{false, true} {
		t.Run(fmt.Sprintf("kept %v", kept), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBed(t)
				var got []uint64
				note := func(batch bus.Batch) {
					for _, m := range batch.AppendTo(nil) {
						got = append(got, m.Counter)
					}
				}
				cfg := bus.ReceiverConfig{Tags: tags.Of(7), Subscription: bus.SubscriptionConfig{Batches: kept}}
				if !kept {
					cfg.Pages = note
				}
				r := b.receiver(cfg, nil)
				s := b.sender(bus.SenderConfig{Tags: tags.Of(7)})
				must(t, s.WaitReceivers(t.Context(), tags.Of(7)))
				for range 100 {
					must(t, s.SendContext(t.Context(), 7, []byte("x")))
				}
				must(t, s.SendAcked(t.Context(), 7, []byte("last")))
				synctest.Wait()
				for kept && len(got) < 101 {
					batch, err := r.Subscription().TakeBatch()
					must(t, err)
					note(batch)
					batch.Release()
				}
				if !slices.Equal(got, counters(1, 101)) {
					t.Errorf("got %v", got)
				}
			})
		})
	}
}

func TestSubscription_Batches_sayWhyThereAreNone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t)
		s := b.subscriber(bus.SubscriberConfig{})
		in, err := s.SubscribeWith(tags.Of(1), nil, bus.SubscriptionConfig{})
		must(t, err)
		if _, err := in.TakeBatch(); !errors.Is(err, bus.ErrNotBatches) {
			t.Errorf("got %v", err)
		}
		for _, err := range in.Batches(t.Context()) {
			if !errors.Is(err, bus.ErrNotBatches) {
				t.Errorf("got %v", err)
			}
		}
		late, err := s.SubscribeWith(tags.Of(1), nil, bus.SubscriptionConfig{Batches: true, Timeout: 1e9})
		must(t, err)
		for _, err := range late.Batches(t.Context()) {
			if !errors.Is(err, bus.ErrNoPublisher) {
				t.Errorf("got %v, want that there is no publisher", err)
			}
		}
	})
}
