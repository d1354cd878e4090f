// SPDX-License-Identifier: Apache-2.0

package bus_test

import (
	"net/netip"
	"testing"
	"testing/synctest"
	"time"

	"tagbus/bus"
	"tagbus/tags"
)

// roomBed is a publisher with a full queue to a subscriber of tags 1 and 3, which takes a
// page when it is told to, and one of tag 2 that takes all. Its pool has one page more
// than the queue.
type roomBed struct {
	*bed
	p       *publisher
	slow    *bus.Subscription // to tags 1 and 3
	taken   int               // pages
	address netip.AddrPort
	ready   int // calls of OnReady
}

const roomPages = 16 // of a queue

func newRoomBed(t *testing.T) *roomBed {
	t.Helper()
	b := &roomBed{bed: newBed(t)}
	b.p = b.publisher(bus.PublisherConfig{
		Tags: tags.Of(1, 2, 3), Sending: bus.Sending{
			PageBytes: 1024, QueueBytes: roomPages * 1024, PoolBytes: (roomPages + 1) * 1024, MaxMessageBytes: 10_000,
			OnReady: func() { b.ready++ },
		},
	})
	s, other := b.subscriber(bus.SubscriberConfig{}), b.subscriber(bus.SubscriberConfig{})
	b.slow = subscribe(t, s, tags.Of(1, 3), func(bus.Message) {})
	subscribe(t, other, tags.Of(2), func(bus.Message) {})
	b.address = netip.AddrPortFrom(s.host, 0)
	b.net.Stall(netip.AddrPort{}, b.address)
	b.net.SetWindow(netip.AddrPort{}, b.address, 1)
	for b.publish(1) {
		synctest.Wait()
	}
	synctest.Wait()
	b.ready = 0
	return b
}

// publish publishes a message that is most of a page.
func (b *roomBed) publish(tag tags.Tag) bool { return b.p.Publish(tag, make([]byte, 900)) == nil }

// take lets the subscriber's side of the network take n pages more.
func (b *roomBed) take(n int) {
	b.taken += n
	b.net.SetWindow(netip.AddrPort{}, b.address, b.taken*950)
	time.Sleep(10 * time.Millisecond)
	synctest.Wait()
}

func TestPublisher_isToldOfAQuarterOfTheQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newRoomBed(t)
		for i := range roomPages/4 - 1 {
			if b.take(1); b.ready > 0 {
				t.Fatalf("OnReady came when %d of %d pages were free", i+1, roomPages)
			}
		}
		if b.take(2); b.ready != 1 {
			t.Errorf("OnReady came %d times when a quarter of the pages was free, want once", b.ready)
		}
		if b.take(4); b.ready != 1 {
			t.Errorf("OnReady came %d times though no message was refused again", b.ready)
		}
	})
}

// A publisher that waits for a subscriber stops waiting when the subscriber leaves.
func TestPublisher_goesOnWhenTheFullSubscriberLeavesTheTag(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newRoomBed(t)
		done := make(chan error, 1)
		go func() { done <- b.p.PublishContext(t.Context(), 1, nil) }()
		synctest.Wait()
		must(t, b.slow.Remove(tags.Of(1)))
		synctest.Wait()
		select {
		case err := <-done:
			must(t, err)
		default:
			t.Fatal("the publisher still waits for the subscriber")
		}
		if b.ready != 1 {
			t.Errorf("OnReady came %d times, want once", b.ready)
		}
	})
}

// A caller that waits for more room than others is woken too, after these have found
// theirs.
func TestPublisher_PublishContext_aLargeMessageIsNotForgotten(t *testing.T) {
	tests := []struct {
		name string
		tag  tags.Tag
	}{
		{"for want of room in the queue", 1},
		{"for want of memory", 2},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newRoomBed(t)
				done := make(chan error, 1)
				go func() { done <- b.p.PublishContext(t.Context(), test.tag, make([]byte, 8000)) }()
				synctest.Wait()
				b.take(5)
				for range 2 {
					if !b.publish(test.tag) {
						t.Fatal("there is no room for a small message")
					}
				}
				b.take(1)
				select {
				case err := <-done:
					t.Fatalf("the large message: got error %v before there was room, want it to wait", err)
				default:
				}
				b.take(2 * roomPages)
				select {
				case err := <-done:
					must(t, err)
				default:
					t.Fatal("the large message still waits, with all the room that there can be")
				}
			})
		})
	}
}
