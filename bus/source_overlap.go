// SPDX-License-Identifier: Apache-2.0

package bus

import (
	"tagbus/bus/internal/overlap"
	"tagbus/bus/internal/request"
	"tagbus/bus/internal/tagset"
	"tagbus/bus/internal/workqueue"
	"tagbus/tags"
)

// duplicates decides which of several publishers of a tag is to send it to a subscription,
// and reports that there are several. Loop only.
type duplicates struct {
	sub *subscriberImpl

	choosy int                    // open subscriptions that do not take all publishers of a tag
	index  overlap.Index[*source] // of Subscriber.sources
	apart  map[pair]struct{}      // to be compared later; nil: no job is going to
	unsure map[*source]struct{}   // to be reconsidered; nil: no job is going to
}

// pair is two publishers that are to be compared.
type pair struct{ a, b *source }

// meet compares a publisher that is new or has changed with all others that may serve
// the same tags. What takes long is put off: until then both publishers are to send all.
func (d *duplicates) meet(src *source) (steps int) {
	others, steps := d.index.Meet(&src.served, workqueue.SliceSteps)
	for _, o := range others {
		if steps < workqueue.SliceSteps {
			steps += d.compare(src, o.Source)
			continue
		}
		src.served.Defer(o)
		d.compareLater(pair{src, o.Source})
		steps++
	}
	return steps
}

// forget drops a publisher that is not going to come back.
func (d *duplicates) forget(src *source) {
	d.reconsider(src)
	d.index.Forget(&src.served)
	src.served.Forget()
}

// compare determines the common tags of two publishers.
func (d *duplicates) compare(a, b *source) (steps int) {
	steps, err := a.served.Compare(&b.served)
	if err != nil {
		tooComplex(a, b, tags.Set{}, err)
	}
	return 1 + steps/tagset.StepsPerStep
}

// compareLater puts off the comparison of two publishers.
func (d *duplicates) compareLater(p pair) {
	if d.apart == nil {
		d.apart = make(map[pair]struct{})
		d.sub.work.Add(d.compareRest)
	}
	d.apart[p] = struct{}{}
}

// compareRest is the job that does what meet has put off.
func (d *duplicates) compareRest(budget int) (steps int, done bool) {
	for p := range d.apart {
		if steps >= budget {
			return steps, false
		}
		delete(d.apart, p)
		if steps++; !d.knows(p.a) || !d.knows(p.b) {
			continue
		}
		steps += d.compare(p.a, p.b)
		d.checkAll(p.a)
		d.reconsider(p.a)
	}
	d.apart = nil
	return steps, true
}

// knows reports whether a publisher is not forgotten.
func (d *duplicates) knows(src *source) bool {
	return d.sub.sources[src.contact.entry.Instance] == src
}

// tooComplex reports, once for two editions of their tags, that the common tags of two
// publishers are unknown.
func tooComplex(src, o *source, set tags.Set, err error) {
	src.event(Event{Kind: Problem, Peer: src.contact.describe(), Other: o.contact.describe(), Tags: set, Err: err})
}

// choose returns those tags of a set, a part of that of the subscription, that no other
// publisher is to send instead.
func (d *duplicates) choose(src *source, sub *subscriptionImpl, set tags.Set) tags.Set {
	if sub.cfg.Duplicates == DuplicatesAll {
		return set
	}
	budget := overlap.Budget()
	for rival, v := range src.served.Rivals {
		o := rival.Source
		if v.Complex() || o.contact.ended || !o.contact.listed && !o.contact.Ready() {
			continue
		}
		has, rest := o.rights.Divide(set)
		left, err := d.without(src, o, v, sub, has, budget)
		if err != nil {
			tooComplex(src, o, sub.live, err)
			continue
		}
		if set = left; !rest.IsEmpty() {
			set = left.Union(rest)
		}
	}
	return set
}

// without returns the tags of a set that publisher o is not to send instead of src. set is a
// part of the subscription's set.
//
// Errors: tags.ErrTooComplex.
func (d *duplicates) without(src, o *source, v *overlap.Pair[*source], sub *subscriptionImpl, set tags.Set, budget *tags.Budget) (tags.Set, error) {
	if sub.cfg.Duplicates == DuplicatesNewest {
		r := o.requests.Of(sub.id)
		if r == nil {
			return set, nil // it does not send yet
		}
		return v.LeaveToNewer(&o.served, set, r.Acked(), budget)
	}
	left, some, err := v.LeaveToOlder(&src.served, set, budget)
	if some {
		d.alarm(v)
	}
	return left, err
}

// check looks after an acknowledgement whether another publisher sends the same tags for
// the subscription.
func (d *duplicates) check(src *source, r *subRequest) {
	if !src.contact.Ready() {
		return
	}
	for rival, v := range src.served.Rivals {
		o := rival.Source
		if v.Complex() || !o.contact.Ready() || o.contact.ended {
			continue
		}
		other := o.requests.Of(r.Sub.id)
		if other == nil || !v.Concerns(r.Acked()) || !v.Concerns(other.Acked()) {
			continue
		}
		d.alarm(v)
		if r.Sub.cfg.Duplicates == DuplicatesNewest {
			o.considerOne(r.Sub) // it may have to step back
		}
	}
}

// checkAll is check for all acknowledged subscriptions, after a change of the publisher's
// tags.
func (d *duplicates) checkAll(src *source) {
	if src.requests.Owing() == 0 {
		return
	}
	left := src.requests.All()
	d.sub.work.Add(func(budget int) (steps int, done bool) {
		for ; len(left) > 0 && steps < budget; steps += request.Steps * (1 + src.served.Count()) {
			if r := left[len(left)-1]; !r.Acked().IsEmpty() {
				d.check(src, r)
			}
			left = left[:len(left)-1]
		}
		return steps, len(left) == 0
	})
}

// alarm reports that two publishers serve the same tags, once for all tags that they
// are known to have in common.
func (d *duplicates) alarm(v *overlap.Pair[*source]) {
	if !v.Report() {
		return
	}
	var wanted []tags.Set
	for sub := range d.sub.subs.All {
		wanted = append(wanted, sub.live)
	}
	later, earlier := v.Order()
	d.sub.event(Event{Kind: Duplicate, Peer: later.contact.describe(), Other: earlier.contact.describe(), Tags: v.Common(tags.Union(wanted...)), Err: ErrDuplicate})
}

// bar notes whether one side of the connection with a publisher lets the other one in.
func (d *duplicates) bar(src *source, barred bool) {
	if src.rights.Bar(barred) {
		d.reconsider(src)
	}
}

// reconsider schedules another decision about what a publisher and its rivals are to
// send, after it has come, changed or gone.
func (d *duplicates) reconsider(src *source) {
	if d.choosy == 0 || src.served.Count() == 0 {
		return
	}
	if d.unsure == nil {
		d.unsure = make(map[*source]struct{})
		d.sub.loop.Post(func() { d.sub.work.Add(d.reconsiderAll) })
	}
	d.unsure[src] = struct{}{}
	for rival := range src.served.Rivals {
		d.unsure[rival.Source] = struct{}{}
	}
}

// reconsiderAll is the job that decides what reconsider has scheduled.
func (d *duplicates) reconsiderAll(budget int) (steps int, done bool) {
	for len(d.unsure) > 0 { // consider may add some
		for src := range d.unsure {
			if steps >= budget {
				return steps, false
			}
			delete(d.unsure, src)
			if steps++; d.knows(src) {
				src.consider()
			}
		}
	}
	d.unsure = nil
	d.sub.checkReady()
	return steps, true
}
