// SPDX-License-Identifier: Apache-2.0

package bus_test

import (
	"testing/synctest"
	"time"

	"tagbus/bus"
	"tagbus/tags"
)

// deliver checks a message, on the loop of a subscriber.
func (r *accessRun) deliver(i int, m bus.Message) {
	r.mu.Lock()
	defer r.mu.Unlock()
	s, tag := r.subs[i], int(m.Tag)
	if s.wants>>tag&1 == 0 {
		r.failf("subscriber %d got tag %d, which it did not ask for", i, tag)
	}
	book := s.book(m.Publisher.Instance, tag)
	if m.Counter <= book.last && (r.c.replay == 0 || r.c.duplicates == bus.DuplicatesAll) { // otherwise it comes again after a change
		r.failf("subscriber %d, tag %d: counter %d after %d", i, tag, m.Counter, book.last)
	}
	book.last = m.Counter
	if m.Counter > book.from {
		book.delivered++
	}
	for number, p := range r.pubs {
		if p == nil || p.Instance() != m.Publisher.Instance {
			continue
		}
		if r.may(number, i)>>tag&1 == 0 {
			r.failf("subscriber %d got tag %d of publisher %d, to which it has no right", i, tag, number)
		}
		at := p.allowedAt[tag]
		if n := int(m.Counter) - 1; n < len(at) && at[n]>>(accessTags*i+tag)&1 == 0 && r.c.replay == 0 {
			r.failf("subscriber %d got message %d of tag %d, which was published when it had no right", i, m.Counter, tag)
		}
	}
}

func (s *accessSubscriber) book(instance string, tag int) *accessBook {
	books := s.books[instance]
	if books == nil {
		books = new([accessTags]accessBook)
		s.books[instance] = books
	}
	return &books[tag]
}

// each calls f for each subscription, publisher and tag.
func (r *accessRun) each(f func(s, p, tag int, book *accessBook)) {
	for i, s := range r.subs {
		if s.sub == nil {
			continue
		}
		for number, p := range r.pubs {
			if p == nil {
				continue
			}
			for tag := range accessTags {
				f(i, number, tag, s.book(p.Instance(), tag))
			}
		}
	}
}

// lostOf returns how many messages were reported missing.
func (r *accessRun) lostOf(s, p, tag int) uint64 {
	l := reported(r.subs[s].member, r.pubs[p].Instance(), 0)[tags.Tag(tag)]
	return l.Lost() + l.LeftOut
}

// check compares what has come with what was published, as far as the rights have lasted.
func (r *accessRun) check() {
	synctest.Wait()
	r.each(func(s, p, tag int, book *accessBook) {
		if !book.sure {
			return
		}
		lost := r.lostOf(s, p, tag) - book.lostFrom
		got, want := book.delivered+lost, r.pubs[p].published[tag]-book.from
		if got > want || got < want && !r.unsettled {
			r.failf("subscriber %d, publisher %d, tag %d: delivered %d, lost %d, published %d since its rights began",
				s, p, tag, book.delivered, lost, want)
		}
	})
}

// forget ends accounts.
func (r *accessRun) forget(ended func(s int, instance string, tag int) bool) {
	for i, s := range r.subs {
		for instance, books := range s.books {
			for tag := range books {
				if ended(i, instance, tag) {
					books[tag].sure = false
					if r.c.replay > 0 {
						books[tag].last = 0 // it is replayed again
					}
				}
			}
		}
	}
}

// quiet lets everything come to rest, checks it, and begins accounts.
func (r *accessRun) quiet() {
	time.Sleep(2 * time.Minute)
	r.unsettled = false
	r.check()
	before := make(map[*accessBook]uint64)
	r.each(func(_, _, _ int, book *accessBook) { before[book] = book.last })
	for i := range r.pubs {
		r.publish(i, 1<<accessTags-1, 1)
	}
	time.Sleep(2 * time.Second)
	r.check()
	came := make(map[[2]int]int) // subscriber and tag: how many publishers serve it
	due := make(map[[2]int]int)
	r.each(func(s, p, tag int, book *accessBook) {
		has := r.subs[s].wants & r.pubs[p].serves & r.may(p, s) >> tag & 1
		due[[2]int{s, tag}] += has
		if book.last > before[book] {
			came[[2]int{s, tag}]++
		}
		if r.c.duplicates != bus.DuplicatesAll {
			return
		}
		if got := book.last > before[book]; got != (has == 1) {
			r.failf("subscriber %d, publisher %d, tag %d: got a message %v, want %v: wants %b, serves %b, may %b; events %v", s, p, tag, got, has == 1,
				r.subs[s].wants, r.pubs[p].serves, r.may(p, s), r.subs[s].kinds())
		}
		if has == 1 && !book.sure {
			book.sure, book.from, book.delivered, book.lostFrom = true, r.pubs[p].published[tag], 0, r.lostOf(s, p, tag)
		}
	})
	for key, n := range due {
		if got := came[key]; min(n, 1) != min(got, 1) || r.c.duplicates != bus.DuplicatesAll && got > 1 {
			r.failf("subscriber %d, tag %d: got messages of %d publishers, of %d that it may have them of (duplicates %v); events %v", key[0], key[1], got, n, r.c.duplicates, r.subs[key[0]].events)
		}
	}
	r.rest()
}

// rest checks what holds at rest.
func (r *accessRun) rest() {
	for i, s := range r.subs {
		if err := broken(s.member); err != nil {
			r.failf("subscriber %d: %v", i, err)
		}
		for _, e := range s.of(bus.Gap) {
			if e.Err != nil && reported(s.member, e.Peer.Instance, 0)[e.Tag].Ended > 0 {
				r.failf("subscriber %d: %d messages of tag %v are missing without a reason", i, e.Count, e.Tag)
			}
		}
	}
	for i, p := range r.pubs {
		if p == nil {
			continue
		}
		if err := broken(p.member); err != nil {
			r.failf("publisher %d: %v", i, err)
		}
		if st := p.Stats(); st.PagesFree != st.Pages {
			r.failf("publisher %d: %d of %d pages not back in the pool", i, st.Pages-st.PagesFree, st.Pages)
		}
		for number, s := range r.subs {
			if s.sub == nil || r.c.duplicates != bus.DuplicatesAll {
				continue
			}
			for _, problem := range audit(r.t, p.publisher, s.subscriber, bitSet(s.wants&p.serves&r.may(i, number))) {
				r.failf("publisher %d, subscriber %d: %s", i, number, problem)
			}
		}
	}
}
