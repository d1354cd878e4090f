// SPDX-License-Identifier: Apache-2.0

package node_test

import (
	"bytes"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"tagbus/bus"
	"tagbus/tags"
)

// TestNode_theOtherDirection: two nodes, as two programs have them, with
// messages larger than a page among the others.
func TestNode_theOtherDirection(t *testing.T) {
	folder := t.TempDir()
	var got, bytes, bad atomic.Int64
	receiver, err := openNode(t, folder).NewReceiver(bus.ReceiverConfig{Tags: tags.Of(1, 2), Listening: bus.Listening{Listen: listen()}}, func(m bus.Message) {
		if int64(m.Counter) != got.Add(1) || m.Tag != 1 || m.Status != 7 {
			bad.Add(1)
		}
		bytes.Add(int64(len(m.Data)))
	})
	if err != nil {
		t.Fatal(err)
	}
	sender, err := openNode(t, folder).NewSender(bus.SenderConfig{Common: bus.Common{Name: "control"}, Sending: bus.Sending{MaxMessageBytes: 1 << 20}})
	if err != nil {
		t.Fatal(err)
	}
	var want int64
	for i := range 2000 {
		n := i % 1000
		if i%100 == 0 {
			n = 500_000
		}
		want += int64(n)
		if err := sender.SendStatusContext(t.Context(), 1, 7, make([]byte, n)); err != nil {
			t.Fatal(err)
		}
		if i%500 == 0 {
			want += 3
			if err := sender.SendStatusAcked(t.Context(), 1, 7, []byte("abc")); err != nil {
				t.Fatal(err)
			}
			if bytes.Load() != want {
				t.Errorf("acknowledged after %d bytes, want %d", bytes.Load(), want)
			}
		}
	}
	if err := sender.Drain(t.Context()); err != nil {
		t.Error(err)
	}
	if got.Load() != 2004 || bytes.Load() != want || bad.Load() != 0 {
		t.Errorf("got %d messages of %d bytes, %d of them wrong, want 2004 of %d", got.Load(), bytes.Load(), bad.Load(), want)
	}
	if err := receiver.Drain(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestNode_theOtherDirectionOnOneLoop(t *testing.T) {
	n := openNode(t, t.TempDir())
	if _, err := n.NewReceiver(bus.ReceiverConfig{Tags: tags.Of(1), Listening: bus.Listening{Listen: listen()}}, func(bus.Message) {}); err != nil {
		t.Fatal(err)
	}
	sender, err := n.NewSender(bus.SenderConfig{})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 100 {
		if err := sender.SendAcked(t.Context(), 1, fmt.Append(nil, i)); err != nil {
			t.Fatal(err)
		}
	}
	if err := n.Close(); err != nil {
		t.Error(err)
	}
	if err := sender.Send(1, nil); !errors.Is(err, bus.ErrClosed) {
		t.Errorf("after the node's Close: got %v, want ErrClosed", err)
	}
}

// TestNode_twoRequestersOfADevice: the ids of requests cross the real transport both ways.
func TestNode_twoRequestersOfADevice(t *testing.T) {
	const command, reply = tags.Tag(1), tags.Tag(2)
	folder := t.TempDir()
	device := openPublisher(t, folder, bus.PublisherConfig{Tags: tags.Of(reply), Sending: bus.Sending{MaxMessageBytes: 200_000}})
	n := openNode(t, folder)
	_, err := n.NewReceiver(bus.ReceiverConfig{Tags: tags.Of(command), Listening: bus.Listening{Listen: listen()}}, func(m bus.Message) {
		if err := device.Reply(m.RequestID(), reply, 3, m.Data); err != nil {
			t.Error(err)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for i := range 2 {
		n := openNode(t, folder)
		sender, err := n.NewSender(bus.SenderConfig{})
		if err != nil {
			t.Fatal(err)
		}
		subscriber, err := n.NewSubscriber(bus.SubscriberConfig{})
		if err != nil {
			t.Fatal(err)
		}
		r, err := bus.NewRequester(sender, subscriber, bus.RequesterConfig{Command: command, Reply: reply, Timeout: time.Minute})
		if err != nil {
			t.Fatal(err)
		}
		for j := range 4 {
			wg.Go(func() {
				for k := range 50 {
					want := bytes.Repeat([]byte{byte(i), byte(j), byte(k)}, 1+k%2*40_000)
					m, err := r.Request(t.Context(), want)
					if err != nil || m.Status != 3 || !bytes.Equal(m.Data, want) {
						t.Errorf("got %d bytes with status %d, %v, want the %d bytes of the command", len(m.Data), m.Status, err, len(want))
					}
				}
			})
		}
	}
	wg.Wait()
}
