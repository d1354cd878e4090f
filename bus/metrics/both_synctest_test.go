// SPDX-License-Identifier: Apache-2.0

package metrics_test

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"

	"tagbus/bus"
	"tagbus/bus/metrics"
	"tagbus/internal/testkit/memnet"
	"tagbus/tags"
)

func TestMetricsOfTheOtherDirection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t)
		r, leave := b.receiver("front end", tags.Of(1), func(m bus.Message) {
			if len(m.Data) == 1 {
				panic("spoiled")
			}
		})
		s, stop := b.sender(bus.SenderConfig{Sending: bus.Sending{FlushInterval: time.Millisecond, PageBytes: 1024, MaxMessageBytes: 1000, QueueBytes: 8 << 10, PoolBytes: 64 << 10}})
		ofSender, ofReceiver := metrics.OfSender(s.Stats), metrics.OfReceiver(r.Stats)
		if err := s.Send(2, nil); !errors.Is(err, bus.ErrNoReceiver) {
			t.Fatalf("got %v, want ErrNoReceiver", err)
		}
		for n := range 4 {
			if err := s.SendAcked(t.Context(), 1, make([]byte, 100*n)); err != nil {
				t.Fatal(err)
			}
		}
		if err := s.SendAcked(t.Context(), 1, make([]byte, 1)); !errors.Is(err, bus.ErrNotHandled) {
			t.Fatalf("got %v, want ErrNotHandled", err)
		}
		peer := s.Stats().Subscribers[0].Peer
		labels := fmt.Sprintf(`{host="%s",name="front end"}`, peer.Host)
		lane := fmt.Sprintf(`{host="%s",name="front end",policy="block"}`, peer.Host)
		compare(t, ofSender,
			"tagbus_sender_messages_total 5",
			"tagbus_sender_payload_bytes_total 601",
			"tagbus_sender_no_receiver_total 1",
			"tagbus_sender_acked_messages_total 4",
			"tagbus_sender_unacked_messages_total 1",
			"tagbus_sender_receivers 1",
			"tagbus_sender_pool_free_pages 64",
			"tagbus_sender_receiver_queued_bytes"+lane+" 0",
			"tagbus_sender_receiver_queue_limit_bytes"+lane+" 8192",
			"tagbus_sender_receiver_sent_messages_total"+labels+" 5",
		)
		compare(t, ofReceiver,
			"tagbus_receiver_senders 1",
			"tagbus_receiver_messages_total 5",
			"tagbus_receiver_payload_bytes_total 601",
			"tagbus_receiver_panics_total 1",
			"tagbus_receiver_unwanted_messages_total 0",
		)
		leave()
		synctest.Wait()
		if n := testutil.CollectAndCount(ofSender, "tagbus_sender_receiver_queued_bytes", "tagbus_sender_receiver_info"); n != 0 {
			t.Errorf("got %d gauges of a receiver that left, want none", n)
		}
		compare(t, ofSender, "tagbus_sender_receiver_connections"+labels+" 0", "tagbus_sender_receiver_sent_messages_total"+labels+" 5")
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := s.SendAcked(ctx, 1, nil); !errors.Is(err, bus.ErrNoReceiver) {
			t.Fatalf("got %v, want ErrNoReceiver", err)
		}
		stop()
		compare(t, ofSender, "tagbus_sender_no_receiver_total 2", "tagbus_sender_receivers 0", "tagbus_sender_messages_total 5")
		compare(t, ofReceiver, "tagbus_receiver_messages_total 5", "tagbus_receiver_senders 0")
	})
}

// sender opens a sender on a host of its own. stop closes it.
func (b *bed) sender(cfg bus.SenderConfig) (s *bus.Sender, stop func()) {
	b.tb.Helper()
	b.host = b.host.Next()
	loop := memnet.NewLoop()
	s, err := bus.NewSender(b.net.Opener(loop, memnet.Config{Host: b.host}), b.dir, cfg)
	if err != nil {
		b.tb.Fatal(err)
	}
	return s, func() {
		if err := s.Close(); err != nil {
			b.tb.Errorf("close sender: %v", err)
		}
		loop.Close()
	}
}

// receiver opens a receiver on a host of its own. stop closes it.
func (b *bed) receiver(name string, set tags.Set, h bus.Handler) (r *bus.Receiver, stop func()) {
	b.tb.Helper()
	b.host = b.host.Next()
	loop := memnet.NewLoop()
	r, err := bus.NewReceiver(b.net.Opener(loop, memnet.Config{Host: b.host}), b.dir,
		bus.ReceiverConfig{Common: bus.Common{Name: name}, Tags: set, Listening: bus.Listening{Listen: netip.AddrPortFrom(b.host, 0)}}, h)
	if err != nil {
		b.tb.Fatal(err)
	}
	return r, func() {
		if err := r.Close(); err != nil {
			b.tb.Errorf("close receiver: %v", err)
		}
		loop.Close()
	}
}
