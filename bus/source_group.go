// SPDX-License-Identifier: Apache-2.0

package bus

import (
	"tagbus/bus/internal/group"
	"tagbus/bus/internal/positions"
	"tagbus/bus/internal/tagmap"
	"tagbus/bus/internal/workqueue"
	"tagbus/netio"
	"tagbus/subscription"
	"tagbus/tags"
)

// asked is a request whose Subscribe is on its way.
type asked struct {
	*subRequest
	resume bool // it resumes at its position on an earlier connection
}

// stepsPerRequest is the cost of checking a request.
const stepsPerRequest = 8

// asks notes that a request is asked for. From here on the Subscribe counts as under
// way; ask sends it.
func (src *source) asks(r *subRequest) asked {
	resume := r.Ask()
	src.note(r)
	return asked{r, resume}
}

// askForAll asks for all requests that are not settled: first for those that resume at
// a known position, then by age.
func (src *source) askForAll() {
	if src.revising {
		src.reviseAgain = true
		return
	}
	src.revising, src.reviseAgain = true, false
	ep := src.contact.ep
	var resumed, fresh []asked
	revise := src.sub.subs.Each(func(sub *Subscription) (steps int) {
		r := src.revise(sub)
		if r == nil {
			return stepsPerRequest*(1+src.served.Count()) + src.accessSteps(sub)
		}
		if x := src.asks(r); x.resume {
			resumed = append(resumed, x)
		} else {
			fresh = append(fresh, x)
		}
		return stepsPerRequest*(1+src.served.Count()) + src.accessSteps(sub) + r.Sent().Parts()
	})
	var send workqueue.Job
	src.share.Add(func(budget int) (steps int, done bool) {
		if src.contact.ep != ep {
			return 1, true // the connection is lost, and all of it is asked for again
		}
		if send == nil {
			if steps, done = revise(budget); !done {
				return steps, false
			}
			send = src.group(append(resumed, fresh...))
		}
		n, done := send(budget - steps)
		if done {
			src.revising = false
			if src.reviseAgain {
				src.askForAll()
			}
			src.leaveIfUnneeded()
		}
		return steps + n, done
	})
}

// ask sends a Subscribe for each request of a group, which the publisher makes
// active together.
func (src *source) ask(group []asked) { src.share.Add(src.group(group)) }

// group returns the job of ask.
func (src *source) group(group []asked) workqueue.Job {
	if len(group) == 0 {
		return func(int) (int, bool) { return 0, true }
	}
	g := &groupSender{src: src, ep: src.contact.ep, group: group, told: make(map[laneTag]struct{})}
	src.asking++
	return func(budget int) (steps int, done bool) {
		if src.contact.ep != g.ep {
			return 1, true
		}
		if steps, done = g.send(budget); done {
			src.asking--
		}
		src.pump()
		return steps, done
	}
}

// sendInTurn sends a message that must not be within a group.
func (src *source) sendInTurn(m subscription.Message) {
	if src.asking == 0 {
		src.send(m)
		return
	}
	ep := src.contact.ep
	src.share.Add(func(int) (int, bool) {
		if src.contact.ep == ep {
			src.send(m)
		}
		return 1, true
	})
}

// groupSender sends the Subscribes of a group, each behind the positions at which it
// resumes.
type groupSender struct {
	src   *source
	ep    netio.Endpoint
	group []asked
	next  int                  // of group
	told  map[laneTag]struct{} // positions of the group, which need not be said again

	stands workqueue.Job // sends the positions of the next one; nil: not begun
	list   positions.List
}

func (g *groupSender) send(budget int) (steps int, done bool) {
	for ; g.next < len(g.group); g.next++ {
		if steps >= budget {
			return steps, false
		}
		r := g.group[g.next]
		if r.resume {
			if g.stands == nil {
				g.stands = g.src.stands(r.subRequest, g.told, func(p subscription.Position) { g.position(r.Sub.id, p) })
			}
			n, done := g.stands(budget - steps)
			if steps += n; !done {
				return steps, false
			}
			g.stands = nil
			g.queue(r.Sub.id, g.list.Take())
		}
		last := g.next+1 == len(g.group) || (g.next+1)%group.Max == 0
		g.src.subscribe(r.subRequest, r.resume, !last)
		steps += stepsPerRequest + r.Sent().Parts()
		if last {
			g.told = make(map[laneTag]struct{})
		}
	}
	return steps, true
}

// position queues a position, together with others.
func (g *groupSender) position(id uint64, p subscription.Position) {
	g.queue(id, g.list.Add(p))
}

func (g *groupSender) queue(id uint64, list []byte) {
	if list != nil {
		g.src.queue(&subscription.Positions{ID: id, List: list})
	}
}

// stands returns a job that calls tell with the positions, on earlier connections, of
// the tags that the publisher owes a subscription. The publisher makes up for missed
// messages from there. The positions ascend. told has those of the group that need not
// be sent again.
func (src *source) stands(r *subRequest, told map[laneTag]struct{}, tell func(subscription.Position)) workqueue.Job {
	known := &src.lane(r.Sub.lane).received
	note := func(e *tagmap.Entry[received], tell func(subscription.Position)) {
		if e == nil || e.Value.tally.Position == 0 || !r.Owes(e.Tag) {
			return
		}
		key := laneTag{r.Sub.lane, e.Tag}
		if _, said := told[key]; !said {
			told[key] = struct{}{}
			tell(subscription.Position{Tag: e.Tag, Count: e.Value.tally.Position})
		}
	}
	if n, _ := r.Sent().Count(); n <= uint64(known.Len()) {
		return eachTag(r.Sent(), func(tag tags.Tag) { note(known.Entry(tag), tell) })
	}
	var all positions.Merge
	place, walked := uint64(0), false
	return func(budget int) (steps int, done bool) {
		if !walked {
			var run []subscription.Position
			before := known.Cost()
			place, walked = known.Walk(place, (budget+1)/2, func(e *tagmap.Entry[received]) {
				note(e, func(p subscription.Position) { run = append(run, p) })
			})
			all.Add(run)
			return known.Cost() - before + stepsPerTag*len(run), false
		}
		for ; steps < budget; steps += stepsPerTag {
			p, ok := all.Pop()
			if !ok {
				return steps, true
			}
			tell(p)
		}
		return steps, false
	}
}

// eachTag returns a job that calls f for every tag of a set, in ascending order.
func eachTag(set tags.Set, f func(tags.Tag)) workqueue.Job {
	first := tags.Tag(0)
	return func(budget int) (steps int, done bool) {
		for tag := range set.AllFrom(first) {
			if steps >= budget {
				first = tag
				return steps, false
			}
			f(tag)
			steps += stepsPerTag
		}
		return steps, true
	}
}
