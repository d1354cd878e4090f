// SPDX-License-Identifier: Apache-2.0

package bus_test

import (
	"bytes"
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"tagbus/bus"
	"tagbus/tags"
)

// lentBed is a publisher whose only subscriber reads nothing for now. A message
// of lentBytes takes ten pages if it is copied, and one if not.
type lentBed struct {
	*bed
	p    *publisher
	s    *subscriber
	got  *collector
	data []byte
	done atomic.Int32
}

const lentBytes = 9500

func newLentBed(t *testing.T, regionOnly bool, policy bus.Policy) *lentBed {
	t.Helper()
	b := &lentBed{bed: newBed(t), got: newCollector(), data: bytes.Repeat([]byte{7}, lentBytes)}
	b.regionOnly = regionOnly
	b.p = b.publisher(bus.PublisherConfig{Tags: tags.Of(1), Sending: bus.Sending{PageBytes: 1024, MaxMessageBytes: 10 << 10, QueueBytes: 64 << 10}})
	b.s = b.subscriber(bus.SubscriberConfig{})
	b.net.SetWindow(anybody, anyPort(b.s.host), 1024)
	sub, err := b.s.SubscribeWith(tags.Of(1), b.got.handle, bus.SubscriptionConfig{Policy: policy})
	must(t, err)
	must(t, sub.Wait(t.Context()))
	must(t, b.p.Publish(1, nil)) // the tag is known from its first message on
	synctest.Wait()
	time.Sleep(time.Second)
	b.net.Stall(anybody, anyPort(b.s.host))
	return b
}

func (b *lentBed) publish(data []byte) error {
	return b.p.PublishZeroCopy(1, 3, data, func() { b.done.Add(1) })
}

func TestPublisher_PublishZeroCopy_copiesAPayloadOnlyIfItMust(t *testing.T) {
	tests := []struct {
		name       string
		regionOnly bool
		policy     bus.Policy
		bytes      int
		pages      int  // that it holds while the subscriber does not read; a small one is sent all the same
		done       bool // before PublishZeroCopy returns
	}{
		{"a large one is not", false, bus.Policy{}, lentBytes, 1, false},
		{"nor for a subscriber that may lose it", false, bus.Policy{Kind: bus.DropOldest}, lentBytes, 1, false},
		{"one of an eighth of a page is not", false, bus.Policy{}, 128, 0, false},
		{"a smaller one is", false, bus.Policy{}, 127, 0, true},
		{"it is for a transport that knows only its own memory", true, bus.Policy{}, lentBytes, 10, true},
		{"it is for a policy that decides message by message", false, bus.Policy{Kind: bus.Sample, Every: 1}, lentBytes, 10, true},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newLentBed(t, test.regionOnly, test.policy)
				hold := make(chan struct{}) // the loop, which might be faster than this goroutine
				release := sync.OnceFunc(func() { close(hold) })
				defer release()
				b.p.loop.Post(func() { <-hold })
				must(t, b.publish(b.data[:test.bytes]))
				if done := b.done.Load() > 0; done != test.done {
					t.Errorf("done at once: got %v, want %v", done, test.done)
				}
				release()
				time.Sleep(time.Second)
				if st := b.p.Stats(); st.Pages-st.PagesFree != test.pages {
					t.Errorf("pages in use: got %d, want %d", st.Pages-st.PagesFree, test.pages)
				}
				b.net.Resume(anybody, anyPort(b.s.host))
				time.Sleep(time.Second)
				synctest.Wait()
				if n := b.done.Load(); n != 1 {
					t.Errorf("done when it was sent: got %d calls, want 1", n)
				}
				if got := b.got.data[1]; len(got) != 2 || got[1] != string(b.data[:test.bytes]) {
					t.Errorf("received: got %d messages, want 2, the second as published", len(got))
				}
			})
		})
	}
}

func TestPublisher_PublishZeroCopy_aPayloadComesBackHoweverItEnds(t *testing.T) {
	tests := []struct {
		name   string
		policy bus.Policy
		end    func(*testing.T, *lentBed)
	}{
		{"the subscriber reads", bus.Policy{}, func(_ *testing.T, b *lentBed) { b.net.Resume(anybody, anyPort(b.s.host)) }},
		{"the subscriber is killed", bus.Policy{}, func(_ *testing.T, b *lentBed) { b.net.Kill(b.s.host) }},
		{"the publisher is closed", bus.Policy{}, func(t *testing.T, b *lentBed) {
			must(t, b.p.Close())
			if n := b.done.Load(); n != 1 {
				t.Errorf("done when Close returns: got %d calls, want 1", n)
			}
		}},
		{"the publisher is closed on its loop", bus.Policy{}, func(t *testing.T, b *lentBed) {
			b.p.loop.Post(func() { must(t, b.p.Close()) })
		}},
		{"newer messages push it out", bus.Policy{Kind: bus.DropOldest}, func(t *testing.T, b *lentBed) {
			for range 100 {
				must(t, b.p.Publish(1, make([]byte, 1000)))
			}
		}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newLentBed(t, false, test.policy)
				for range 6 { // as much as is given to the transport at once
					must(t, b.p.Publish(1, make([]byte, 1000)))
				}
				must(t, b.publish(b.data))
				synctest.Wait()
				time.Sleep(time.Second)
				if n := b.done.Load(); n != 0 {
					t.Fatalf("done before: got %d calls, want none", n)
				}
				test.end(t, b)
				time.Sleep(time.Second)
				if n := b.done.Load(); n != 1 {
					t.Errorf("done: got %d calls, want 1", n)
				}
			})
		})
	}
}

func TestPublisher_PublishZeroCopy_aRefusedPayloadStaysTheCallers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newLentBed(t, false, bus.Policy{})
		accepted := int32(0)
		var err error
		for err = b.publish(b.data); err == nil; err = b.publish(b.data) {
			accepted++
		}
		if !errors.Is(err, bus.ErrNoResources) {
			t.Fatalf("when there is no room: got %v", err)
		}
		if err := b.publish(make([]byte, 11<<10)); !errors.Is(err, bus.ErrMessageTooLarge) {
			t.Errorf("too large: got %v", err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		err = b.p.PublishZeroCopyContext(ctx, 1, 0, b.data, func() { b.done.Add(1) })
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("with a second to wait: got %v", err)
		}
		if n := b.done.Load(); n != 0 {
			t.Errorf("done: got %d calls, want none", n)
		}
		time.AfterFunc(time.Second, func() { b.net.Resume(anybody, anyPort(b.s.host)) })
		must(t, b.p.PublishZeroCopyContext(t.Context(), 1, 0, b.data, func() { b.done.Add(1) }))
		time.Sleep(time.Second)
		if n := b.done.Load(); n != accepted+1 {
			t.Errorf("done: got %d calls, want %d", n, accepted+1)
		}
		must(t, b.p.Drain(t.Context()))
		if err := b.publish(b.data); !errors.Is(err, bus.ErrClosed) {
			t.Errorf("after Drain: got %v", err)
		}
	})
}

func TestPublisher_PublishZeroCopy_noDoneIfThePayloadNeverChanges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newLentBed(t, false, bus.Policy{})
		b.net.Resume(anybody, anyPort(b.s.host))
		for _, n := range []int{lentBytes, 10} {
			must(t, b.p.PublishZeroCopy(1, 0, b.data[:n], nil))
		}
		time.Sleep(time.Second)
		const more = 100 // so that their pages are used again
		for i := range more {
			must(t, b.p.PublishContext(t.Context(), 1, []byte{byte(i)}))
			b.p.Flush()
		}
		must(t, b.p.Drain(t.Context()))
		synctest.Wait()
		got := b.got.data[1]
		if want := 3 + more; len(got) != want || got[1] != string(b.data) || got[2] != string(b.data[:10]) || len(got[want-1]) != 1 {
			t.Errorf("received: got %d messages, want %d, as published", len(got), want)
		}
		if d := b.s.of(bus.Problem); len(d) > 0 {
			t.Errorf("problems: got %v, want none", d)
		}
	})
}
