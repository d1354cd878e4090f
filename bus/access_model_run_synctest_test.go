// SPDX-License-Identifier: Apache-2.0

package bus_test

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"tagbus/bus"
	"tagbus/bus/directory"
	"tagbus/tags"
)

type accessRun struct {
	t        *testing.T
	c        accessCase
	bed      *bed
	site     *site
	mu       sync.Mutex // of what deliver reads while messages are published
	problems []string

	mayPublish   [accessPublishers]int // bits
	maySubscribe [accessSubscribers]int
	pubs         [accessPublishers]*accessPublisher // nil: none runs
	subs         [accessSubscribers]*accessSubscriber
	unsettled    bool // a connection may be down
	ops          int
}

type accessPublisher struct {
	*publisher
	serves    int // bits
	published [accessTags]uint64
	allowedAt [accessTags][]int // by message: bits of subscribers that had the rights
}

type accessSubscriber struct {
	*subscriber
	sub   *bus.Subscription // nil: none
	wants int
	books map[string]*[accessTags]accessBook // by the publisher's instance
}

// accessBook is what a subscription has got of a tag.
type accessBook struct {
	sure      bool   // its rights last since from
	from      uint64 // position
	delivered uint64 // since
	last      uint64 // counter
	lostFrom  uint64 // reported before
}

func newAccessRun(t *testing.T, c accessCase) *accessRun {
	r := &accessRun{t: t, c: c, bed: newBed(t), unsettled: true}
	const all = 1<<accessTags - 1
	r.mayPublish, r.maySubscribe = [accessPublishers]int{all, all}, [accessSubscribers]int{all, 3}
	r.site = r.bed.site(r.policy())
	for i := range r.subs {
		cfg := bus.SubscriberConfig{}
		if access := r.site.as(fmt.Sprint("cn:s", i)); c.careful[i] {
			cfg.Access = access
		}
		r.subs[i] = &accessSubscriber{subscriber: r.bed.subscriber(cfg), books: make(map[string]*[accessTags]accessBook)}
	}
	return r
}

func (r *accessRun) failf(format string, args ...any) {
	r.problems = append(r.problems, fmt.Sprintf("op %d: ", r.ops)+fmt.Sprintf(format, args...))
}

// may returns the tags that a subscriber may have of a publisher.
func (r *accessRun) may(p, s int) int {
	bits := 1<<accessTags - 1
	if r.c.limited[p] {
		bits &= r.maySubscribe[s]
	}
	if r.c.careful[s] {
		bits &= r.mayPublish[p]
	}
	return bits
}

func (r *accessRun) step(op accessOp) {
	r.ops++
	p, s := r.pubs[op.Publisher], r.subs[op.Subscriber]
	switch op.Kind {
	case 0, 1, 2:
		r.publish(op.Publisher, op.Set, 1+op.Kind)
	case 3, 4:
		r.change(func() { r.maySubscribe[op.Subscriber] = op.Set })
	case 5:
		r.change(func() { r.mayPublish[op.Publisher] = op.Set })
	case 6:
		r.change(func() { r.maySubscribe[op.Subscriber] ^= op.Set })
	case 7:
		r.begin(op.Publisher, op.Set)
	case 8, 9:
		r.subscribe(op.Subscriber, op.Set)
	case 10:
		if p != nil {
			r.unsettled = true
			r.bed.net.Reset(p.Addr(), anyPort(s.host))
		}
	case 11:
		if s.sub != nil {
			r.want(s, s.wants|op.Set, func() error { return s.sub.Add(bitSet(op.Set)) })
		}
	case 12:
		if s.sub != nil && s.wants&^op.Set != 0 {
			r.want(s, s.wants&^op.Set, func() error { return s.sub.Remove(bitSet(op.Set)) })
		}
	case 13:
		r.serve(op.Publisher, op.Set)
	case 14:
		time.Sleep(time.Duration(op.Set) * 10 * time.Millisecond)
		synctest.Wait()
	case 15:
		r.quiet()
	}
	synctest.Wait()
}

// begin starts a publisher, or ends the one that runs.
func (r *accessRun) begin(i, set int) {
	if p := r.pubs[i]; p != nil {
		r.check()
		r.forget(func(_ int, instance string, _ int) bool { return instance == p.Instance() })
		r.pubs[i] = nil
		if set&1 == 1 {
			r.bed.net.Kill(p.host)
			r.bed.dir.Expire(p.Instance(), directory.ErrDead)
		}
		must(r.t, p.Close())
		synctest.Wait()
		return
	}
	access := r.site.as(fmt.Sprint("cn:p", i))
	cfg := bus.PublisherConfig{Sending: bus.Sending{PageBytes: 1024, MaxMessageBytes: 4096, QueueBytes: 64 << 10, PoolBytes: 256 << 10, CacheMessages: r.c.replay}}
	if r.c.limited[i] {
		cfg.Access = access
		set &= r.mayPublish[i]
	}
	if set == 0 {
		return
	}
	cfg.Tags = bitSet(set)
	r.pubs[i] = &accessPublisher{publisher: r.bed.publisher(cfg), serves: set}
	r.unsettled = true
	synctest.Wait()
}

// serve changes the tags of a publisher.
func (r *accessRun) serve(i, set int) {
	p := r.pubs[i]
	if p == nil || set == 0 {
		return
	}
	r.check()
	if set&1 == 1 {
		err := p.AddTags(bitSet(set))
		if may := !r.c.limited[i] || set&^r.mayPublish[i] == 0; may != (err == nil) || err != nil && !errors.Is(err, bus.ErrNotAllowed) {
			r.failf("publisher %d: add tags %b: %v, allowed are %b", i, set, err, r.mayPublish[i])
		}
		if err == nil {
			p.serves |= set
			r.unsettled = true
		}
	} else {
		must(r.t, p.RemoveTags(bitSet(set)))
		p.serves &^= set
		r.forget(func(_ int, instance string, tag int) bool { return instance == p.Instance() && set>>tag&1 == 1 })
	}
	synctest.Wait()
}

func (r *accessRun) publish(i, set, n int) {
	p := r.pubs[i]
	if p == nil {
		return
	}
	rights := 0
	for s := range r.subs {
		rights |= r.may(i, s) << (accessTags * s)
	}
	for range n {
		for tag := range accessTags {
			if set&p.serves>>tag&1 == 0 {
				continue
			}
			r.mu.Lock()
			p.allowedAt[tag] = append(p.allowedAt[tag], rights)
			r.mu.Unlock()
			err := p.Publish(tags.Tag(tag), payload(tags.Tag(tag), p.published[tag]+1))
			if err != nil {
				r.failf("publisher %d: tag %d: %v", i, tag, err)
				return
			}
			p.published[tag]++
		}
	}
	p.Flush()
	synctest.Wait()
}

func (r *accessRun) change(f func()) {
	r.check()
	before := [2]any{r.mayPublish, r.maySubscribe}
	old := accessRun{c: r.c, mayPublish: r.mayPublish, maySubscribe: r.maySubscribe}
	f()
	if before == [2]any{r.mayPublish, r.maySubscribe} {
		return
	}
	r.forget(func(s int, instance string, tag int) bool {
		for i, p := range r.pubs {
			if p != nil && p.Instance() == instance {
				return r.may(i, s)&old.may(i, s)>>tag&1 == 0
			}
		}
		return true
	})
	r.site.change(r.policy())
}

func (r *accessRun) subscribe(i, set int) {
	s := r.subs[i]
	r.check()
	r.forget(func(who int, _ string, _ int) bool { return who == i })
	if s.sub != nil {
		must(r.t, s.sub.Close())
		s.sub, s.wants = nil, 0
		synctest.Wait()
		return
	}
	if set == 0 {
		return
	}
	s.wants, s.books = set, make(map[string]*[accessTags]accessBook)
	var err error
	s.sub, err = s.SubscribeWith(bitSet(set), func(m bus.Message) { r.deliver(i, m) }, bus.SubscriptionConfig{Duplicates: r.c.duplicates, Replay: r.c.replay})
	must(r.t, err)
	synctest.Wait()
}

func (r *accessRun) want(s *accessSubscriber, wants int, change func() error) {
	if wants == s.wants {
		return
	}
	r.check()
	gone := s.wants &^ wants
	r.forget(func(who int, _ string, tag int) bool { return r.subs[who] == s && gone>>tag&1 == 1 })
	s.loop.Do(func() { s.wants |= wants })
	must(r.t, change())
	synctest.Wait()
	s.loop.Do(func() { s.wants = wants })
}
