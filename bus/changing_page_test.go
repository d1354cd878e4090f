// SPDX-License-Identifier: Apache-2.0

package bus

import (
	"context"
	"math/rand/v2"
	"net/netip"
	"sync"
	"sync/atomic"
	"testing"
	"unsafe"

	"tagbus/bus/directory/memory"
	"tagbus/bus/internal/wire"
	"tagbus/bus/internal/wire/wiretest"
	"tagbus/internal/testkit"
	"tagbus/internal/testkit/memnet"
	"tagbus/netio"
	"tagbus/tags"
)

// changing is a subscriber whose publisher changes the pages while they are read, as it can
// in shared memory.
type changing struct {
	t   *testing.T
	s   *Subscriber
	src *source
	mem []byte // of the page, without its header

	counters [kindsOfSubscriptions + 1]map[tags.Tag]uint64 // of the last message
	messages atomic.Int64
}

// The tags of a page say to which kind of subscription they go; the last one to all of them.
const (
	byOne tags.Tag = iota
	inBatch
	inPages
	inQueue
	inBatches
	kindsOfSubscriptions
)

// TestPagesThatChange: whatever a page becomes while it is read, messages lie within it, their
// counters go up, and no more are counted than come.
func TestPagesThatChange(t *testing.T) {
	if testkit.Race {
		t.Skip("the race detector reports this race of two processes")
	}
	x := newChanging(t)
	const rounds = 8000
	head, good := wire.Split(changingPage())
	var err error
	x.mem, err = netio.AllocRegion(len(good))
	must(t, err)
	defer func() { must(t, netio.FreeRegion(x.mem)) }()
	var end atomic.Bool
	var wg sync.WaitGroup
	wg.Go(func() {
		for !end.Load() {
			x.change(good)
		}
	})
	done := make(chan struct{})
	subscriberOf(x.s).loop.Post(func() {
		defer close(done)
		for range rounds {
			copy(x.mem, good)
			x.src.in.onPage(head, x.mem)
		}
	})
	<-done
	end.Store(true)
	wg.Wait()
	if x.messages.Load() < rounds {
		t.Errorf("got %d messages of %d pages, want some of each", x.messages.Load(), rounds)
	}
}

// change changes a byte for a moment: any, or so that the page has more messages than before,
// as the payloads are zeros.
func (x *changing) change(good []byte) {
	at, b := rand.IntN(len(good)), byte(0)
	if rand.IntN(4) == 0 {
		b = good[at] ^ 1<<rand.IntN(8)
	}
	for range 10 {
		x.mem[at] = b
	}
	x.mem[at] = good[at]
}

func newChanging(t *testing.T) *changing {
	t.Helper()
	x := &changing{t: t}
	for i := range x.counters {
		x.counters[i] = make(map[tags.Tag]uint64)
	}
	network, dir := memnet.New(), memory.New()
	open := func(host string) (netio.Opener, netip.AddrPort) {
		loop := memnet.NewLoop()
		t.Cleanup(loop.Close)
		addr := netip.MustParseAddr(host)
		return network.Opener(loop, memnet.Config{Host: addr}), netip.AddrPortFrom(addr, 0)
	}
	opener, addr := open("10.0.0.1")
	p, err := NewPublisher(opener, dir, PublisherConfig{Tags: tags.Everything(), Listening: Listening{Listen: addr}})
	must(t, err)
	t.Cleanup(func() { must(t, p.Close()) })
	opener, _ = open("10.0.0.2")
	x.s, err = NewSubscriber(opener, dir, SubscriberConfig{Receiving: Receiving{QueueBytes: 1 << 30}})
	must(t, err)
	t.Cleanup(func() { must(t, x.s.Close()) })
	for kind := range kindsOfSubscriptions {
		x.subscribe(kind)
	}
	x.src = subscriberOf(x.s).sources[p.Instance()]
	return x
}

// subscribe subscribes to the tag of a kind, and to that of all.
func (x *changing) subscribe(kind tags.Tag) {
	x.t.Helper()
	set := tags.Of(kind, kindsOfSubscriptions)
	var sub *Subscription
	var err error
	switch uint64(kind) {
	case uint64(byOne):
		sub, err = x.s.Subscribe(set, func(m Message) { x.check(kind, &m, true) })
	case uint64(inBatch):
		sub, err = x.s.SubscribeBatch(set, func(all []Message) { x.checkAll(kind, all, true) }, SubscriptionConfig{})
	case uint64(inPages):
		sub, err = x.s.SubscribePages(set, x.checkPage, SubscriptionConfig{})
	case uint64(inQueue):
		sub, err = x.s.Subscribe(set, nil)
	case uint64(inBatches):
		sub, err = x.s.SubscribeWith(set, nil, SubscriptionConfig{Batches: true})
	}
	must(x.t, err)
	must(x.t, sub.Wait(x.t.Context()))
	if kind != inQueue && kind != inBatches {
		return
	}
	read := make(chan struct{})
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		defer close(read)
		for m, err := range sub.Messages(ctx) {
			if err != nil {
				return
			}
			x.check(kind, &m, false)
		}
	}()
	x.t.Cleanup(func() {
		cancel()
		<-read
	})
}

// check checks a message of a subscription.
//
//   - inPlace: its data lies in the page.
func (x *changing) check(kind tags.Tag, m *Message, inPlace bool) {
	x.messages.Add(1)
	last := x.counters[kind][m.Tag]
	if m.Counter <= last {
		x.t.Errorf("subscription %d: number %d of tag %v after number %d", kind, m.Counter, m.Tag, last)
	}
	x.counters[kind][m.Tag] = m.Counter
	if inPlace {
		x.within(kind, address(m.Data), len(m.Data))
	}
}

// within checks that data lies in the page.
func (x *changing) within(kind tags.Tag, at uintptr, size int) {
	if begin := uintptr(unsafe.Pointer(unsafe.SliceData(x.mem))); size > 0 && (at < begin || at+uintptr(size) > begin+uintptr(len(x.mem))) {
		x.t.Errorf("subscription %d: %d bytes outside of the page", kind, size)
	}
}

func (x *changing) checkAll(kind tags.Tag, all []Message, inPlace bool) {
	for i := range all {
		x.check(kind, &all[i], inPlace)
	}
}

// checkPage takes a page apart twice: what it says the second time lies in it, too.
func (x *changing) checkPage(b Batch) {
	x.checkAll(inPages, b.AppendTo(nil), true)
	rows := make([]Row, b.Len())
	b.Rows(rows)
	for _, r := range rows {
		x.within(inPages, r.Data, int(r.Size))
	}
}

// changingPage returns a page with runs of messages for all kinds of subscriptions.
func changingPage() []byte {
	var w wire.Writer
	w.Reset(make([]byte, 16<<10))
	for tag := range kindsOfSubscriptions + 1 {
		for range 60 {
			w.Append(tag, 0, 0, make([]byte, 8))
		}
		w.Append(tag, wire.Request, 0, append(wire.AppendRequest(nil, 3, wire.ID{1}), "request"...))
		w.Append(tag, 7, 0, []byte("a status"))
	}
	return wiretest.Sent(&w, 0)
}
