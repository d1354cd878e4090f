// SPDX-License-Identifier: Apache-2.0

package overlap

import (
	"tagbus/bus/internal/tagset"
	"tagbus/bus/internal/workqueue"
	"tagbus/tags"
)

// Rule says which publishers of a tag send it to a subscription.
type Rule uint8

// The rules.
const (
	All    Rule = iota // all of them
	Newest             // the one that announced it last, once it sends
	Oldest             // the one that announced it first
)

// Presence says how near a publisher is.
type Presence uint8

// The presences, each nearer than the one before.
const (
	Forgotten Presence = iota // nothing is decided about it any more
	Gone                      // it has said goodbye, or is neither listed nor connected
	Listed                    // in the directory, and not connected
	Ready                     // connected
)

// Side is what a Choice asks and tells about publishers and subscriptions. Of its methods
// only Consider and ConsiderOne call the Choice.
//
//   - S: a publisher.
//   - U: a subscription.
type Side[S, U any] interface {
	Presence(S) Presence
	Divide(S, tags.Set) (has, rest tags.Set) // into what may be had of the publisher, and the rest
	Acked(S, U) tags.Set                     // what the publisher has acknowledged of a subscription
	Asked(S) []U                             // all subscriptions of which it may have acknowledged something
	Consider(S)                              // what the publisher is to send may have changed
	ConsiderOne(S, U)                        // and what it is to send for one subscription
	Considered()                             // Reconsider is done for all publishers that it concerns
	Overlap(*Pair[S])                        // two publishers serve the same tags; told once for all of these
	TooComplex(a, b S, set tags.Set, err error)
	TooMany(S) // no more pairs of publishers are kept, first of this one: told once, until there is room again
}

// stepsPerCheck is the cost of comparing what two publishers have acknowledged of a
// subscription, in steps of a workqueue.Job.
const stepsPerCheck = 8

// Choice decides which publishers of a tag are to send it to a subscription, and tells that
// there are several. What takes long it does in jobs.
//
// Everything here runs on the loop.
type Choice[S comparable, U interface{ Rule() Rule }] struct {
	side  Side[S, U]
	work  *workqueue.Queue
	post  func(func()) bool
	index Index[S] // of all publishers

	rivalry                                   // the room for pairs
	choosy  int                               // open subscriptions with another rule than All
	late    map[*Publisher[S]][]*Publisher[S] // to be compared later with these, or with all (nil); nil: no job is going to
	waiting int                               // pairs of late
	meeting *Publisher[S]                     // of late, by the job
	rest    []*Publisher[S]                   // those that it is still to be compared with

	unsure map[*Publisher[S]]struct{} // to be reconsidered; nil: no job is going to
}

// NewChoice returns a Choice that knows no publisher.
//
//   - post: runs a function on the loop later: netio.Loop.Post.
func NewChoice[S comparable, U interface{ Rule() Rule }](side Side[S, U], work *workqueue.Queue, post func(func()) bool) Choice[S, U] {
	return Choice[S, U]{side: side, work: work, post: post}
}

// Open counts a subscription in.
func (c *Choice[S, U]) Open(sub U) {
	if sub.Rule() != All {
		c.choosy++
	}
}

// Close counts a subscription out.
func (c *Choice[S, U]) Close(sub U) {
	if sub.Rule() != All {
		c.choosy--
	}
}

// Steps returns how many steps the search for publishers with common tags has taken so far.
func (c *Choice[S, U]) Steps() int { return c.index.Steps() }

// Meet compares a publisher that is new or has changed with all others that may serve the
// same tags. What takes long is put off: until then both publishers are to send all.
func (c *Choice[S, U]) Meet(p *Publisher[S]) (steps int) {
	others, steps := c.others(p)
	n := 0
	for ; n < len(others) && steps < workqueue.SliceSteps; n++ {
		steps += c.compare(p, others[n])
	}
	for _, o := range others[n:] {
		p.Defer(o)
		steps++
	}
	if n < len(others) {
		c.compareLater(p, others[n:])
	}
	return steps
}

// Forget drops a publisher that is not going to come back.
func (c *Choice[S, U]) Forget(p *Publisher[S]) {
	c.Reconsider(p)
	c.index.Forget(p)
	c.pairs -= p.Count()
	p.Forget()
	c.makeUp()
}

// compare determines the common tags of two publishers.
func (c *Choice[S, U]) compare(a, b *Publisher[S]) (steps int) {
	if !c.admits(a, b) {
		return 1
	}
	before := a.Count()
	steps, err := a.Compare(b)
	c.pairs += a.Count() - before
	if err != nil {
		c.side.TooComplex(a.Source, b.Source, tags.Set{}, err)
	}
	return 1 + steps/tagset.StepsPerStep
}

func (c *Choice[S, U]) forgotten(p *Publisher[S]) bool {
	return c.side.Presence(p.Source) == Forgotten
}

// Choose returns those tags of a set, a part of that of the subscription, that no other
// publisher is to send instead of p. Some may be none of p's, which it sends once it announces them.
func (c *Choice[S, U]) Choose(p *Publisher[S], sub U, set tags.Set) tags.Set {
	return c.choose(p, sub, set, false)
}

// Concerns reports whether Choose leaves some of the tags that p serves. It looks at rivals up to the first that sends
// all of them instead, of hundreds at few, and with Newest at none that sends nothing.
func (c *Choice[S, U]) Concerns(p *Publisher[S], sub U, set tags.Set) bool {
	return c.choose(p, sub, set, true).Intersects(p.serves)
}

// choose is Choose.
//
//   - served: only the tags that p serves matter; once none of them is left the result may have too many others.
func (c *Choice[S, U]) choose(p *Publisher[S], sub U, set tags.Set, served bool) tags.Set {
	rule := sub.Rule()
	if rule == All {
		return set
	}
	whole, budget := set, Budget()
	for o, v := range p.Rivals {
		if v.Complex() || c.side.Presence(o.Source) <= Gone {
			continue
		}
		var acked tags.Set
		if rule == Newest {
			if acked = c.side.Acked(o.Source, sub); acked.IsEmpty() {
				continue // as nearly all of hundreds may
			}
		}
		has, rest := c.side.Divide(o.Source, set)
		left, some, err := c.leave(p, o, v, rule, has, acked, budget)
		if err != nil {
			c.side.TooComplex(p.Source, o.Source, whole, err)
			continue
		}
		if set = left; !rest.IsEmpty() {
			set = left.Union(rest)
		}
		if served && some && p.servesNone(set, budget) {
			break
		}
	}
	return set
}

// leave returns the tags of a set that publisher o is not to send instead of p.
//
//   - acked: of a Newest rule, the tags that o sends.
//   - some: whether there may be others, which it is to send.
//   - Errors: tags.ErrTooComplex.
func (c *Choice[S, U]) leave(p, o *Publisher[S], v *Pair[S], rule Rule, set, acked tags.Set, budget *tags.Budget) (left tags.Set, some bool, err error) {
	if rule == Newest {
		left, err = v.LeaveToNewer(o, set, acked, budget)
		return left, true, err
	}
	left, some, err = v.LeaveToOlder(p, set, budget)
	if some {
		c.tell(v)
	}
	return left, some, err
}

// tell tells that two publishers serve the same tags, unless that was told.
func (c *Choice[S, U]) tell(v *Pair[S]) {
	if v.Report() {
		c.side.Overlap(v)
	}
}

// Check looks after an acknowledgement whether another publisher sends the same tags for
// the subscription.
func (c *Choice[S, U]) Check(p *Publisher[S], sub U) {
	if c.side.Presence(p.Source) != Ready {
		return
	}
	acked := c.side.Acked(p.Source, sub)
	for o, v := range p.Rivals {
		if v.Complex() || c.side.Presence(o.Source) != Ready || !v.Concerns(acked) || !v.Concerns(c.side.Acked(o.Source, sub)) {
			continue
		}
		c.tell(v)
		if sub.Rule() == Newest {
			c.side.ConsiderOne(o.Source, sub) // it may have to step back
		}
	}
}

// CheckAll is Check for all acknowledged subscriptions, after a change of the publisher's
// tags.
func (c *Choice[S, U]) CheckAll(p *Publisher[S]) {
	left := c.side.Asked(p.Source)
	if len(left) == 0 {
		return
	}
	c.work.Add(func(budget int) (steps int, done bool) {
		for ; len(left) > 0 && steps < budget; left = left[:len(left)-1] {
			c.Check(p, left[len(left)-1])
			steps += stepsPerCheck * (1 + p.Count())
		}
		return steps, len(left) == 0
	})
}

// Reconsider schedules another decision about what a publisher and its rivals are to
// send, after it has come, changed or gone.
func (c *Choice[S, U]) Reconsider(p *Publisher[S]) {
	if c.choosy == 0 || p.Count() == 0 {
		return
	}
	if c.unsure == nil {
		c.unsure = make(map[*Publisher[S]]struct{})
		c.post(func() { c.work.Add(c.reconsiderAll) })
	}
	c.unsure[p] = struct{}{}
	for o := range p.Rivals {
		c.unsure[o] = struct{}{}
	}
}

// reconsiderAll is the job that decides what Reconsider has scheduled.
func (c *Choice[S, U]) reconsiderAll(budget int) (steps int, done bool) {
	for len(c.unsure) > 0 { // Consider may add some
		for p := range c.unsure {
			if steps >= budget {
				return steps, false
			}
			delete(c.unsure, p)
			if steps++; !c.forgotten(p) {
				c.side.Consider(p.Source)
			}
		}
	}
	c.unsure = nil
	c.side.Considered()
	return steps, true
}
