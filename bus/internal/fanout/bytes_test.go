// SPDX-License-Identifier: Apache-2.0

package fanout

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"tagbus/bus/internal/wire"
	"tagbus/internal/alarm"
	"tagbus/internal/testkit"
	"tagbus/netio"
	"tagbus/subscription"
	"tagbus/tags"
)

// bytesBed is a fanout with one subscriber for each of the tags from 0 on, and endpoints
// that take nothing.
type bytesBed struct {
	t     testing.TB
	loop  modelLoop
	fan   Fanout
	boxes []*modelBox
}

func newBytesBed(tb testing.TB, policy subscription.Policy, subscribers int, cfg Config) *bytesBed {
	tb.Helper()
	b := &bytesBed{t: tb}
	var err error
	if cfg.Served.IsEmpty() {
		if cfg.Served, err = tags.Range(0, tags.Tag(subscribers-1)); err != nil {
			tb.Fatal(err)
		}
	}
	cfg.MaxStreams, cfg.FlushInterval = 64, time.Millisecond
	cfg.First, cfg.Call = func(tags.Tag) {}, func(f func()) { f() }
	cfg.LossError = func(subscription.Cause) error { return ErrLost }
	b.fan.Init(cfg)
	clock := new(alarm.Clock)
	if err := alarm.Open(clock, b.loop.NewTimer); err != nil {
		tb.Fatal(err)
	}
	if err := b.fan.Start(&b.loop, clock); err != nil {
		tb.Fatal(err)
	}
	for i := range subscribers {
		box := &modelBox{}
		box.ep = &modelEndpoint{read: func([]byte) {}, refuses: true}
		box.Init(&b.fan, box.ep, func(err error) { tb.Fatal(err) })
		b.subscribe(&box.Outbox, tags.Of(tags.Tag(i)), policy)
		b.boxes = append(b.boxes, box)
	}
	return b
}

// subscriber makes a connection that wants a set, and completes what it is told first.
func (b *bytesBed) subscriber(set tags.Set, policy subscription.Policy) (*Outbox, *modelEndpoint) {
	b.t.Helper()
	box, ep := new(Outbox), &modelEndpoint{read: func([]byte) {}}
	var err error
	if ep.pool, err = netio.NewPool(1, 1<<16); err != nil {
		b.t.Fatal(err)
	}
	box.Init(&b.fan, ep, func(err error) { b.t.Fatal(err) })
	b.subscribe(box, set, policy)
	for ep.complete(box) {
	}
	return box, ep
}

// publish publishes messages of one tag until one is refused or lost, and the flush
// interval passes behind each of them. It returns how many bytes were accepted.
func (b *bytesBed) publish(tag tags.Tag, size, most int) (bytes int) {
	b.t.Helper()
	data := make([]byte, size)
	lane := b.boxes[tag].Lanes[0]
	for range most {
		if err := b.fan.Publish(tag, 0, data, nil); errors.Is(err, ErrNoRoom) {
			break
		} else if err != nil {
			b.t.Fatal(err)
		}
		b.fan.Flush()
		if b.loop.turn(); lane.Account.Lost(tag) > 0 {
			break
		}
		bytes += wire.HeaderBytes + wire.PlainBytes + 8 + size // with the tag
	}
	return bytes
}

// A queue of so many bytes holds as much, however small its messages are and though each
// is a page of its own.
func TestAQueueHoldsItsBytes(t *testing.T) {
	const pageBytes, queueBytes = 130_900, 4 << 20
	sizes := []int{0, 1, 64, 1000, 16_000, 20_000, 66_000, 70_000, 130_000, 200_000, 500_000}
	if testkit.Race { // one goroutine publishes 100,000 messages of the smallest
		sizes = sizes[3:]
	}
	for _, policy := range []subscription.Policy{{Kind: subscription.Block}, {Kind: subscription.DropNewest}} {
		for _, size := range sizes {
			t.Run(fmt.Sprintf("%v/%d", policy, size), func(t *testing.T) {
				pool, err := netio.NewPool(16*queueBytes/pageBytes, pageBytes) // as by default
				if err != nil {
					t.Fatal(err)
				}
				b := newBytesBed(t, policy, 1, Config{Pool: pool, PageBytes: pageBytes, QueueBytes: queueBytes, MaxMessageBytes: 1 << 20})
				held := b.publish(0, size, queueBytes)
				if least := queueBytes*85/100 - size; held < least || held > queueBytes {
					t.Errorf("the queue holds %d bytes, want %d to %d", held, least, queueBytes)
				}
			})
		}
	}
}

// A pool of so many bytes holds as much, though each of many subscribers has only a little.
func TestAPoolHoldsItsBytes(t *testing.T) {
	const pageBytes, buffers = 4096, 64
	for _, subscribers := range []int{1, 10, 64, 500} {
		for _, size := range []int{64, 500, 3000, 10_000} {
			t.Run(fmt.Sprintf("%d/%d", subscribers, size), func(t *testing.T) {
				pool, err := netio.NewPool(buffers, pageBytes)
				if err != nil {
					t.Fatal(err)
				}
				b := newBytesBed(t, subscription.Policy{}, subscribers, Config{Pool: pool, PageBytes: pageBytes, QueueBytes: 2 * pageBytes * buffers, MaxMessageBytes: 1 << 20})
				held := 0
				for more := true; more; {
					more = false
					for i := range subscribers {
						n := b.publish(tags.Tag(i), size, 1)
						held += n
						more = more || n > 0
					}
				}
				if least := buffers*pageBytes*85/100 - size; held < least {
					t.Errorf("the pool holds %d bytes, want %d of %d", held, least, buffers*pageBytes)
				}
			})
		}
	}
}
