// SPDX-License-Identifier: Apache-2.0

package bus_test

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"tagbus/bus"
	"tagbus/bus/directory"
	"tagbus/tags"
)

type modelRun struct {
	t        *testing.T
	bed      *bed
	cfg      bus.PublisherConfig
	pub      *publisher
	epochs   map[string]*modelEpoch // by the publisher's instance
	now      *modelEpoch            // of pub
	subs     [modelSubscribers]*modelSubscriber
	problems []string
	lent     []*lentMessage
}

// modelEpoch is what a publisher has published.
type modelEpoch struct {
	published map[tags.Tag]uint64
	removed   map[tags.Tag]bool // by the publisher
}

type modelSubscriber struct {
	*subscriber
	policy  bus.Policy
	stalled bool
	cut     bool              // partitioned from everybody
	sub     *bus.Subscription // nil while not subscribed
	set     tags.Set
	books   map[string]*modelBook // of the subscription, by the publisher's instance
	gaps    int                   // events before the subscription
}

// modelBook is what a subscriber has of one publisher.
type modelBook struct {
	from      map[tags.Tag]uint64 // positions at the acknowledgement; nil if it was not there to see
	delivered map[tags.Tag]uint64
	last      map[tags.Tag]uint64     // counter
	lost      map[tags.Tag]bus.Losses // reported when the account began
}

func newModelRun(t *testing.T, c modelCase) *modelRun {
	r := &modelRun{t: t, bed: newBed(t), epochs: make(map[string]*modelEpoch)}
	r.bed.broken = c.broken
	if c.inPart { // a third of all sizes whole, and half of another third
		r.bed.direct = func(size int) int { return size * (size % 3) / 2 }
	}
	all, err := tags.Range(0, modelTags-1)
	must(t, err)
	r.cfg = bus.PublisherConfig{
		Tags: all, Sending: bus.Sending{
			PageBytes: 256, MaxMessageBytes: 600, QueueBytes: 2048, PoolBytes: modelPool(c.cache),
			CacheMessages: c.cache,
		}, MaxStreams: c.streams,
	}
	for i := range r.subs {
		r.subs[i] = &modelSubscriber{subscriber: r.bed.subscriber(bus.SubscriberConfig{}), policy: c.policies[i]}
		r.bed.net.SetWindow(netip.AddrPort{}, r.subs[i].anyPort(), 1024)
	}
	r.begin()
	return r
}

// begin starts a publisher. Subscribers that can be reached subscribe before it
// publishes anything.
func (r *modelRun) begin() {
	r.pub = r.bed.publisher(r.cfg)
	r.now = &modelEpoch{published: make(map[tags.Tag]uint64), removed: make(map[tags.Tag]bool)}
	r.epochs[r.pub.Instance()] = r.now
	time.Sleep(time.Minute)
	for _, s := range r.subs {
		if s.sub != nil && s.reachable() {
			s.books[r.pub.Instance()] = newModelBook(make(map[tags.Tag]uint64))
		}
	}
}

func newModelBook(from map[tags.Tag]uint64) *modelBook {
	return &modelBook{
		from: from, delivered: make(map[tags.Tag]uint64), last: make(map[tags.Tag]uint64), lost: make(map[tags.Tag]bus.Losses),
	}
}

func (s *modelSubscriber) anyPort() netip.AddrPort { return netip.AddrPortFrom(s.host, 0) }

func (s *modelSubscriber) reachable() bool { return !s.stalled && !s.cut }

func (r *modelRun) failf(format string, args ...any) {
	r.problems = append(r.problems, fmt.Sprintf(format, args...))
}

func (r *modelRun) run(ops []modelOp) []string {
	for _, op := range ops {
		r.step(op)
	}
	r.quiet()
	r.end()
	r.quiet()
	for i, s := range r.subs {
		if s.sub != nil && !r.allRemoved(s.set) && !s.said(bus.Goodbye, r.pub.Instance()) {
			r.failf("subscriber %d: no goodbye; events %v", i, s.kinds())
		}
	}
	return r.problems
}

func (r *modelRun) step(op modelOp) {
	s := r.subs[op.Who]
	switch op.Kind {
	case 0, 1, 2, 3:
		for range op.Amount {
			r.publish(tags.Tag(op.Tag))
		}
	case 4:
		r.subscribe(op.Who, s, tags.Of(tags.Tag(op.Tag), tags.Tag(op.Amount%modelTags)))
	case 5:
		r.unsubscribe(s)
	case 6:
		r.bed.net.Reset(r.pub.Addr(), s.anyPort())
	case 7:
		s.stalled = true
		r.bed.net.Stall(netip.AddrPort{}, s.anyPort())
	case 8:
		r.resume(s)
	case 9:
		time.Sleep(time.Duration(op.Amount) * 20 * time.Millisecond)
		synctest.Wait()
	case 10:
		s.cut = true
		r.bed.net.Partition(netip.AddrPort{}, s.anyPort())
	case 11:
		time.Sleep(time.Duration(op.Amount) * time.Second)
	case 12:
		r.quiet()
	case 13:
		r.end()
		r.begin()
	case 14:
		r.kill()
		r.begin()
	case 15:
		r.add(s, tags.Of(tags.Tag(op.Tag), tags.Tag(op.Amount%modelTags)))
	case 16:
		r.remove(s, tags.Of(tags.Tag(op.Tag), tags.Tag(op.Amount%modelTags)))
	case 17, 18:
		r.serve(tags.Of(tags.Tag(op.Tag), tags.Tag(op.Amount%modelTags)), op.Kind == 18)
	case 19:
		r.publishBatch(op)
	case 20:
		for range op.Amount {
			r.publishLent(tags.Tag(op.Tag))
		}
	}
}

func (r *modelRun) resume(s *modelSubscriber) {
	s.stalled, s.cut = false, false
	r.bed.net.Resume(netip.AddrPort{}, s.anyPort())
	r.bed.net.Heal(netip.AddrPort{}, s.anyPort())
}

// end ends the publisher in order, if the subscribers let it.
func (r *modelRun) end() {
	ctx, cancel := context.WithTimeout(r.t.Context(), 10*time.Second)
	defer cancel()
	reached := !slices.ContainsFunc(r.subs[:], func(s *modelSubscriber) bool { return !s.reachable() })
	if err := r.pub.Drain(ctx); errors.Is(err, context.DeadlineExceeded) && reached {
		r.failf("drain: %v", err)
	}
	must(r.t, r.pub.Close())
	synctest.Wait()
}

// kill ends the publisher as kill -9 does.
func (r *modelRun) kill() {
	r.bed.net.Kill(r.pub.host)
	r.bed.dir.Expire(r.pub.Instance(), directory.ErrDead)
	must(r.t, r.pub.Close())
	synctest.Wait()
}

func (r *modelRun) subscribe(who int, s *modelSubscriber, set tags.Set) {
	if s.sub != nil || !s.reachable() || r.allRemoved(set) {
		return
	}
	time.Sleep(time.Minute) // so that it is connected or free to connect at once
	from := make(map[tags.Tag]uint64)
	s.set, s.books = set, map[string]*modelBook{r.pub.Instance(): newModelBook(from)}
	s.gaps = len(s.of(bus.Gap))
	for tag := range set.All() {
		from[tag] = r.now.published[tag]
	}
	var err error
	s.sub, err = s.SubscribeWith(set, func(m bus.Message) { r.deliver(who, s, m) }, bus.SubscriptionConfig{Policy: s.policy})
	must(r.t, err)
	must(r.t, s.sub.Wait(r.t.Context()))
}

func (r *modelRun) deliver(who int, s *modelSubscriber, m bus.Message) {
	book := s.books[m.Publisher.Instance]
	if book == nil {
		book = newModelBook(nil)
		s.books[m.Publisher.Instance] = book
	}
	if !s.set.Contains(m.Tag) {
		r.failf("subscriber %d got tag %v, which it did not ask for", who, m.Tag)
	}
	if m.Counter <= max(book.last[m.Tag], book.from[m.Tag]) {
		r.failf("subscriber %d, tag %v: counter %d after %d", who, m.Tag, m.Counter, max(book.last[m.Tag], book.from[m.Tag]))
	}
	if string(m.Data) != string(payload(m.Tag, m.Counter)) {
		r.failf("subscriber %d, tag %v, counter %d: wrong bytes", who, m.Tag, m.Counter)
	}
	book.last[m.Tag] = m.Counter
	book.delivered[m.Tag]++
}

func (r *modelRun) unsubscribe(s *modelSubscriber) {
	if s.sub == nil || !s.reachable() {
		return
	}
	must(r.t, s.sub.Unsubscribe(r.t.Context()))
	s.sub = nil
	synctest.Wait() // after a reset, until the publisher has seen it too
}

// quiet lets everything come to rest, and checks the guarantees.
func (r *modelRun) quiet() {
	for _, s := range r.subs {
		r.resume(s)
	}
	time.Sleep(time.Minute) // reconnect, deliver
	for i, s := range r.subs {
		if s.sub == nil {
			continue
		}
		for _, problem := range audit(r.t, r.pub, s.subscriber, s.set) {
			r.failf("subscriber %d: %s", i, problem)
		}
		for instance, book := range s.books {
			r.account(i, s, instance, book)
		}
	}
	for _, e := range r.pub.of(bus.Problem) {
		if errors.Is(e.Err, bus.ErrTransport) || errors.Is(e.Err, bus.ErrProtocol) {
			r.failf("publisher: %v", e)
		}
	}
	for i, s := range r.subs {
		if err := broken(s.member); err != nil {
			r.failf("subscriber %d: %v", i, err)
		}
	}
	for _, m := range r.lent {
		if n := m.done.Load(); n != 1 {
			r.failf("done of a message of tag %v was called %d times", m.tag, n)
		}
	}
	r.lent = nil
	if st := r.pub.Stats(); st.PagesFree != st.Pages {
		r.failf("%d of %d pages not back in the pool", st.Pages-st.PagesFree, st.Pages)
	}
}

// said reports whether there was an event about a publisher.
func (s *modelSubscriber) said(kind bus.EventKind, instance string) bool {
	return slices.ContainsFunc(s.of(kind), func(e bus.Event) bool { return e.Peer.Instance == instance })
}

// account checks guarantee 2 for one subscriber and publisher, from the outside.
func (r *modelRun) account(who int, s *modelSubscriber, instance string, book *modelBook) {
	lost := reported(s.member, instance, s.gaps)
	whole := instance == r.pub.Instance() || s.said(bus.Goodbye, instance)
	for tag := range s.set.All() {
		l := minus(lost[tag], book.lost[tag])
		got, published := book.delivered[tag]+l.Lost()+l.LeftOut, r.epochs[instance].published[tag]-book.from[tag]
		if got > published || got < published && whole && book.from != nil {
			r.failf("subscriber %d, publisher %s, tag %v: delivered %d, lost %+v, published %d since the acknowledgement",
				who, instance, tag, book.delivered[tag], l, published)
		}
		if l.Ended > 0 {
			r.failf("subscriber %d, publisher %s, tag %v: %d messages are missing without a reason", who, instance, tag, l.Ended)
		}
	}
}
