// SPDX-License-Identifier: Apache-2.0

package fanout

import (
	"fmt"
	"testing"
	"time"

	"tagbus/netio"
	"tagbus/subscription"
	"tagbus/tags"
)

// A Latest lane that may hold less than the transport takes is full before it is busy. The
// newest message waits for room then too.
func TestLatestWaitsForRoom(t *testing.T) {
	const pageBytes, buffers = 130_900, 64
	pool, err := netio.NewPool(buffers, pageBytes)
	if err != nil {
		t.Fatal(err)
	}
	b := newBytesBed(t, subscription.Policy{}, 0, Config{
		Pool: pool, PageBytes: pageBytes, QueueBytes: pageBytes, MaxMessageBytes: 100 << 10, Served: tags.Of(1),
	})
	b.fan.cfg.FlushInterval = 0
	var slow Outbox
	var last byte
	ep := &modelEndpoint{read: func(m []byte) { last = m[len(m)-1] }}
	if ep.pool, err = netio.NewPool(1, 1<<16); err != nil {
		t.Fatal(err)
	}
	slow.Init(&b.fan, ep, func(err error) { t.Fatal(err) })
	b.subscribe(&slow, tags.Of(1), subscription.Policy{Kind: subscription.Latest})
	for ep.complete(&slow) {
	}
	clock := time.Hour
	b.fan.now = func() int64 { return int64(clock) }
	for i := range 30 {
		if err := b.fan.Publish(1, 0, append(make([]byte, 10_000), byte(i)), nil); err != nil {
			t.Fatal(err)
		}
		clock += time.Millisecond
		b.fan.flushDue()
		b.loop.turn()
	}
	for range 3 {
		for ep.complete(&slow) {
		}
		b.fan.flushDue()
		b.loop.turn()
	}
	if last != 29 {
		t.Errorf("the newest message is number 29, delivered was %d", last)
	}
}

// While a lane is busy the newest message waits, also if each one is flushed: pages of messages that are
// not the newest any more would fill the lane, which then loses the newest.
func TestLatestKeepsTheNewest_flushed(t *testing.T) {
	const pageBytes, messages = 4096, 200
	for _, flushes := range []bool{false, true} {
		for _, interval := range []time.Duration{0, time.Hour} {
			t.Run(fmt.Sprintf("flushes %v, interval %v", flushes, interval), func(t *testing.T) {
				pool, err := netio.NewPool(256, pageBytes)
				if err != nil {
					t.Fatal(err)
				}
				b := newBytesBed(t, subscription.Policy{}, 0, Config{
					Pool: pool, PageBytes: pageBytes, QueueBytes: 16 * pageBytes, MaxMessageBytes: 2000, Served: tags.Of(1),
				})
				b.fan.cfg.FlushInterval = interval
				clock, last := time.Hour, byte(0)
				b.fan.now = func() int64 { return int64(clock) }
				slow, ep := b.subscriber(tags.Of(1), subscription.Policy{Kind: subscription.Latest})
				ep.read = func(m []byte) { last = m[len(m)-1] }
				for i := range messages {
					if err := b.fan.Publish(1, 0, append(make([]byte, 1000), byte(i)), nil); err != nil {
						t.Fatal(err)
					}
					if flushes {
						b.fan.Flush()
					}
					clock += time.Millisecond
					b.fan.flushDue()
					b.loop.turn()
				}
				if interval > 0 && !flushes {
					clock += interval
				}
				for range messages {
					for ep.complete(slow) {
					}
					b.loop.turn()
					b.fan.flushDue()
				}
				sums := slow.Lanes[0].Account.Sums()
				if last != messages-1 || sums.Lost[subscription.CauseFull] > 0 {
					t.Errorf("the last message is number %d, and %d are lost; want %d, and none", last, sums.Lost[subscription.CauseFull], messages-1)
				}
			})
		}
	}
}

// A lane that holds nothing has room for any message, under Latest too.
func TestLatestTakesAMessageLargerThanItsBound(t *testing.T) {
	const pageBytes, buffers, size = 4096, 64, 3 * 4096
	pool, err := netio.NewPool(buffers, pageBytes)
	if err != nil {
		t.Fatal(err)
	}
	for _, policy := range []subscription.Policy{{}, {Kind: subscription.DropOldest}, {Kind: subscription.Latest}} {
		b := newBytesBed(t, subscription.Policy{}, 0, Config{
			Pool: pool, PageBytes: pageBytes, QueueBytes: pageBytes, MaxMessageBytes: size, Served: tags.Of(1),
		})
		b.fan.cfg.FlushInterval = 0
		var box Outbox
		got := 0
		ep := &modelEndpoint{read: func(m []byte) {
			if len(m) > size {
				got++
			}
		}}
		box.Init(&b.fan, ep, func(err error) { t.Fatal(err) })
		b.subscribe(&box, tags.Of(1), policy)
		for range 3 {
			for ep.complete(&box) {
			}
			if err := b.fan.Publish(1, 0, make([]byte, size), nil); err != nil {
				t.Fatal(err)
			}
			b.fan.Flush()
		}
		for ep.complete(&box) {
		}
		if got != 3 {
			t.Errorf("%v: got %d of 3 messages", policy, got)
		}
	}
}
