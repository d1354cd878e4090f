// SPDX-License-Identifier: Apache-2.0

package bus_test

import (
	"bytes"
	"testing"
	"testing/synctest"

	"tagbus/bus"
	"tagbus/tags"
)

// TestPagesInParts: a page whose header is apart brings what it brings in one, to all kinds of
// subscriptions; anything else is not taken apart.
func TestPagesInParts(t *testing.T) {
	for _, test := range []struct {
		name  string
		cut   int
		taken bool
	}{{"behind the header", 0, true}, {"within the header", 7, false}, {"behind a part of the first message", 9, false}} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				const n = 300
				b := newBed(t)
				b.parts = &parter{cut: test.cut}
				p := b.publisher(bus.PublisherConfig{Tags: tags.Of(1, 2), Sending: bus.Sending{PageBytes: 4096, MaxMessageBytes: 4000}})
				s := b.subscriber(bus.SubscriberConfig{Receiving: bus.Receiving{RetainBytes: 1 << 30}})
				var handled, kept []bus.Message
				subscribe(t, s, tags.Of(1), func(m bus.Message) {
					m.Data = bytes.Clone(m.Data)
					handled = append(handled, m)
				})
				subscribe(t, s, tags.Of(2), func(m bus.Message) {
					must(t, m.Retain())
					kept = append(kept, m)
				})
				publishNumbered(t, p, n)
				must(t, p.Drain(t.Context()))
				synctest.Wait()
				if len(handled) != n/2 || len(kept) != n/2 {
					t.Fatalf("got %d and %d messages, want %d each", len(handled), len(kept), n/2)
				}
				for i := range n {
					m := [][]bus.Message{handled, kept}[i%2][i/2]
					if m.Tag != tags.Tag(1+i%2) || m.Counter != uint64(1+i/2) || !bytes.Equal(m.Data, numbered(i)) {
						t.Fatalf("message %d: got number %d of tag %v, %.20q", i, m.Counter, m.Tag, m.Data)
					}
				}
				for _, m := range kept {
					m.Release()
				}
				if taken := b.parts.taken.Load(); (taken > 0) != test.taken || b.parts.refused.Load() == 0 {
					t.Errorf("got %d messages taken apart and %d not, want some taken: %t", taken, b.parts.refused.Load(), test.taken)
				}
				if got := s.Stats(); got.Messages != n {
					t.Errorf("Stats: got %d messages, want %d", got.Messages, n)
				}
			})
		})
	}
}

// TestPagesInParts_ofAReceiver are acknowledged to their sender.
func TestPagesInParts_ofAReceiver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t)
		b.parts = new(parter)
		in := inbox{}
		b.receiver(bus.ReceiverConfig{Tags: tags.Of(1)}, in.handle)
		s := b.sender(bus.SenderConfig{Tags: tags.Of(1), Common: bus.Common{Name: "a"}})
		synctest.Wait()
		for range 3 {
			must(t, s.SendAcked(t.Context(), 1, []byte("acknowledged")))
		}
		if got := b.parts.taken.Load(); got != 3 {
			t.Errorf("got %d pages taken apart, want 3", got)
		}
	})
}
