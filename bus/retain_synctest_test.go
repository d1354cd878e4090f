// SPDX-License-Identifier: Apache-2.0

package bus_test

import (
	"bytes"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"

	"tagbus/bus"
	"tagbus/netio"
	"tagbus/tags"
)

// kept is a retained message and what it was.
type kept struct {
	m    bus.Message
	want []byte
}

func checkKept(tb testing.TB, all []kept) {
	tb.Helper()
	for _, k := range all {
		if !bytes.Equal(k.m.Data, k.want) {
			tb.Errorf("retained message %d of tag %v: got %.20q, want %.20q", k.m.Counter, k.m.Tag, k.m.Data, k.want)
		}
	}
}

// publishNumbered publishes n messages of different sizes.
func publishNumbered(t *testing.T, p *publisher, n int) {
	t.Helper()
	for i := range n {
		data := bytes.Repeat(fmt.Appendf(nil, "%d.", i), 1+i*37%500)
		must(t, p.PublishContext(t.Context(), tags.Tag(1+i%2), data))
	}
}

func TestMessage_Retain_outlivesTheHandler(t *testing.T) {
	shared := netio.Config{SharedReceive: netio.SharedBuffers{Buffers: 2, BufferBytes: 1 << 20}}
	tests := []struct {
		name   string
		config netio.Config
		queue  bool
	}{
		{"in the memory of the transport", netio.Config{}, false},
		{"in a copy, of a transport that cannot spare it", shared, false},
		{"of an iteration", netio.Config{}, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBed(t)
				b.config = tt.config
				p := b.publisher(bus.PublisherConfig{Tags: tags.Of(1, 2), Sending: bus.Sending{PageBytes: 4096, MaxMessageBytes: 4000}})
				s := b.subscriber(bus.SubscriberConfig{Receiving: bus.Receiving{RetainBytes: 1 << 30}})
				var all []kept
				take := func(m bus.Message) {
					if m.Counter%3 != 0 {
						return
					}
					k := kept{m, bytes.Clone(m.Data)}
					must(t, k.m.Retain())
					all = append(all, k)
				}
				if tt.queue {
					sub := subscribe(t, s, tags.Of(1, 2), nil)
					published := make(chan struct{})
					go func() {
						defer close(published)
						publishNumbered(t, p, 300)
					}()
					for m, err := range sub.Messages(t.Context()) {
						must(t, err)
						if take(m); m.Counter == 150 {
							break
						}
					}
					<-published
				} else {
					subscribe(t, s, tags.Of(1, 2), take)
					publishNumbered(t, p, 300)
				}
				must(t, p.Drain(t.Context()))
				synctest.Wait()
				checkKept(t, all)
				if got := s.Stats(); got.Retained != len(all) || len(all) < 99 || got.RetainedBytes < 64*len(all) {
					t.Errorf("got %d messages retained in %d bytes, want %d", got.Retained, got.RetainedBytes, len(all))
				}
				half := len(all) / 2
				for i := range half {
					all[i].m.Release()
				}
				must(t, s.Close())
				checkKept(t, all[half:])
				for i := range all {
					all[i].m.Release() // half of them once more
				}
				if got := s.Stats(); got.Retained != 0 || got.RetainedBytes != 0 {
					t.Errorf("all is released: got %d messages retained in %d bytes, want none", got.Retained, got.RetainedBytes)
				}
			})
		})
	}
}

func TestMessage_Retain_tooMuchIsRefusedAndLosesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t)
		p := b.publisher(bus.PublisherConfig{Tags: tags.Of(1)})
		s := b.subscriber(bus.SubscriberConfig{Receiving: bus.Receiving{RetainBytes: 10_000}})
		var all []kept
		refused, received := 0, 0
		subscribe(t, s, tags.Of(1), func(m bus.Message) {
			received++
			want := bytes.Clone(m.Data)
			switch err := m.Retain(); {
			case err == nil:
				all = append(all, kept{m, want})
			case errors.Is(err, bus.ErrRetainLimit):
				refused++
				if !bytes.Equal(m.Data, want) {
					t.Errorf("refused message: got %.20q, want %.20q", m.Data, want)
				}
			default:
				t.Error(err)
			}
		})
		for range 30 {
			must(t, p.Publish(1, bytes.Repeat([]byte("x"), 1000)))
			p.Flush()
		}
		synctest.Wait()
		if len(all) == 0 || len(all) > 10 || received != 30 || refused != 30-len(all) {
			t.Errorf("got %d retained and %d refused of %d, want at most 10 of 30 and the others", len(all), refused, received)
		}
		if got := s.Stats(); got.RetainedBytes > 10_000 || got.RetainRefused != uint64(refused) {
			t.Errorf("got %d bytes retained and %d refused, want at most 10,000 and %d", got.RetainedBytes, got.RetainRefused, refused)
		}
		checkKept(t, all)
		before := len(all)
		all[0].m.Release()
		must(t, p.Publish(1, bytes.Repeat([]byte("y"), 1000)))
		must(t, p.Drain(t.Context()))
		synctest.Wait()
		if len(all) != before+1 {
			t.Errorf("after a release: got %d retained in all, want %d", len(all), before+1)
		}
		for i := range all {
			all[i].m.Release()
		}
	})
}

func TestMessage_Retain_onlyAMessageOfNow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t)
		p := b.publisher(bus.PublisherConfig{Tags: tags.Of(1)})
		s := b.subscriber(bus.SubscriberConfig{})
		var late, first bus.Message
		subscribe(t, s, tags.Of(1), func(m bus.Message) {
			if late = m; first.Data == nil {
				must(t, m.Retain())
				must(t, m.Retain())
				first = m
			}
		})
		for range 2 {
			must(t, p.Publish(1, []byte("abc")))
		}
		must(t, p.Drain(t.Context()))
		synctest.Wait()
		if err := late.Retain(); !errors.Is(err, bus.ErrMessageOver) {
			t.Errorf("retain after the handler: got error %v, want %v", err, bus.ErrMessageOver)
		}
		late.Release()
		second := first
		second.Release()
		second.Release()
		first.Release() // the same message
		if got := s.Stats().Retained; got != 0 || first.Data != nil {
			t.Errorf("got %d retained and data %q after the release, want none", got, first.Data)
		}
		if err := second.Retain(); !errors.Is(err, bus.ErrMessageOver) {
			t.Errorf("retain after the release: got error %v, want %v", err, bus.ErrMessageOver)
		}
	})
}

func TestMessage_Retain_atAReceiver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t)
		var all []kept
		r := b.receiver(bus.ReceiverConfig{Tags: tags.Of(1), Receiving: bus.Receiving{RetainBytes: 1 << 20}}, func(m bus.Message) {
			k := kept{m, bytes.Clone(m.Data)}
			must(t, k.m.Retain())
			all = append(all, k)
		})
		s := b.sender(bus.SenderConfig{Tags: tags.Of(1)})
		for i := range 50 {
			must(t, s.SendContext(t.Context(), 1, fmt.Appendf(nil, "command %d", i)))
		}
		must(t, s.Drain(t.Context()))
		synctest.Wait()
		checkKept(t, all)
		if got := r.Stats().Retained; got != 50 {
			t.Errorf("got %d retained, want 50", got)
		}
		for i := range all {
			all[i].m.Release()
		}
	})
}
