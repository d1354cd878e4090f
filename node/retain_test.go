// SPDX-License-Identifier: Apache-2.0

package node_test

import (
	"bytes"
	"context"
	"fmt"
	"testing"
	"unsafe"

	"tagbus/bus"
	"tagbus/netio/rdma"
	"tagbus/node"
	"tagbus/tags"
)

// TestNode_retainCopiesNothing looks where the data is.
func TestNode_retainCopiesNothing(t *testing.T) {
	const messages = 300
	dir := t.TempDir()
	// A backend with a fixed number of receive buffers spares half of them.
	cfg := node.Config{Bus: dir, Backend: backend, RDMA: rdma.Config{ReceiveBuffers: 2 * messages}}
	p := openPublisher(t, dir, bus.PublisherConfig{Tags: tags.Of(1), Sending: bus.Sending{MaxMessageBytes: 100_000}})
	s, err := openNodeWith(t, cfg).NewSubscriber(bus.SubscriberConfig{})
	if err != nil {
		t.Fatal(err)
	}
	arrived := make(chan bus.Message, messages)
	sub, err := s.Subscribe(tags.Of(1), func(m bus.Message) {
		before := unsafe.SliceData(m.Data)
		if err := m.Retain(); err != nil {
			t.Errorf("retain: got error %v, want none", err)
		}
		if unsafe.SliceData(m.Data) != before {
			t.Errorf("message %d of %d bytes was copied", m.Counter, len(m.Data))
		}
		arrived <- m
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := sub.Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	payload := func(i uint64) []byte { return bytes.Repeat([]byte{byte(i)}, int(1+i*i*31%100_000)) }
	for i := range uint64(messages) {
		if err := p.PublishContext(t.Context(), 1, payload(i+1)); err != nil {
			t.Fatal(err)
		}
	}
	p.Flush()
	var all []bus.Message
	for range messages {
		all = append(all, <-arrived)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	for i := range all {
		if !bytes.Equal(all[i].Data, payload(all[i].Counter)) {
			t.Errorf("message %d: got other bytes than were published", all[i].Counter)
		}
		all[i].Release()
	}
	if got := s.Stats(); got.Retained != 0 || got.RetainedBytes != 0 {
		t.Errorf("got %d messages retained in %d bytes, want none", got.Retained, got.RetainedBytes)
	}
}

// BenchmarkKeep: a handler keeps each message for 1,000 more of them: without copying,
// and by a copy. One op is one message.
func BenchmarkKeep(b *testing.B) {
	for _, size := range []int{40, 1 << 10, 64 << 10} {
		b.Run(fmt.Sprintf("size=%d", size)+"/retained", func(b *testing.B) { benchmarkKeep(b, size, true) })
		b.Run(fmt.Sprintf("size=%d", size)+"/copied", func(b *testing.B) { benchmarkKeep(b, size, false) })
	}
}

func benchmarkKeep(b *testing.B, size int, retain bool) {
	dir := b.TempDir()
	p := openPublisher(b, dir, bus.PublisherConfig{Tags: tags.Of(1)})
	s, err := openNode(b, dir).NewSubscriber(bus.SubscriberConfig{Receiving: bus.Receiving{RetainBytes: 1 << 30}})
	if err != nil {
		b.Fatal(err)
	}
	var last [1000]bus.Message
	done := make(chan struct{})
	n := 0
	sub, err := s.Subscribe(tags.Of(1), func(m bus.Message) {
		place := &last[n%len(last)]
		if retain {
			place.Release()
			if err := m.Retain(); err != nil {
				b.Error(err)
			}
		} else {
			m.Data = append([]byte(nil), m.Data...)
		}
		*place = m
		if n++; n == b.N {
			close(done)
		}
	})
	if err != nil {
		b.Fatal(err)
	}
	if err := sub.Wait(context.Background()); err != nil {
		b.Fatal(err)
	}
	data := make([]byte, size)
	b.SetBytes(int64(size))
	b.ReportAllocs()
	b.ResetTimer()
	for range b.N {
		if err := p.PublishContext(context.Background(), 1, data); err != nil {
			b.Fatal(err)
		}
	}
	p.Flush()
	<-done
	b.StopTimer()
	for i := range last {
		last[i].Release()
	}
}
