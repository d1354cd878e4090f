// SPDX-License-Identifier: Apache-2.0

package request

import (
	"tagbus/bus/internal/group"
	"tagbus/bus/internal/positions"
	"tagbus/bus/internal/workqueue"
	"tagbus/subscription"
	"tagbus/tags"
)

// asked is a request whose Subscribe is on its way.
type asked[S any] struct {
	*Request[S]
	resume bool // it resumes at its position on an earlier connection
}

// laneTag names what has one position.
type laneTag struct {
	lane uint16
	tag  tags.Tag
}

// asks notes that a request is asked for. From here on the Subscribe counts as under
// way; group sends it.
func (a *Asker[S]) asks(r *Request[S]) asked[S] {
	resume := r.Ask()
	a.note(r)
	return asked[S]{r, resume}
}

// group returns the job that sends a Subscribe for each of some requests, which the
// publisher makes active together.
func (a *Asker[S]) group(all []asked[S]) workqueue.Job {
	if len(all) == 0 {
		return func(int) (int, bool) { return 0, true }
	}
	g := &sender[S]{asker: a, group: all, told: make(map[laneTag]struct{})}
	a.sending++
	conn := a.conn
	return func(budget int) (steps int, done bool) {
		if a.conn != conn {
			return 1, true
		}
		if steps, done = g.send(budget); done {
			a.sending--
		}
		a.side.Pump()
		return steps, done
	}
}

// InTurn sends a message that must not be within a group.
func (a *Asker[S]) InTurn(m subscription.Message) {
	if a.sending == 0 {
		a.side.Queue(m)
		a.side.Pump()
		return
	}
	conn := a.conn
	a.share.Add(func(int) (int, bool) {
		if a.conn == conn {
			a.side.Queue(m)
			a.side.Pump()
		}
		return 1, true
	})
}

// sender sends the Subscribes of a group, each behind the positions at which it resumes.
type sender[S any] struct {
	asker *Asker[S]
	group []asked[S]
	next  int                  // of group
	told  map[laneTag]struct{} // positions of the group, which need not be said again

	stands workqueue.Job // sends the positions of the next one; nil: not begun
	list   positions.List
}

func (g *sender[S]) send(budget int) (steps int, done bool) {
	for ; g.next < len(g.group); g.next++ {
		if steps >= budget {
			return steps, false
		}
		r := g.group[g.next]
		if r.resume {
			if g.stands == nil {
				g.stands = g.standing(r.Request)
			}
			n, done := g.stands(budget - steps)
			if steps += n; !done {
				return steps, false
			}
			g.stands = nil
			g.queue(r.id, g.list.Take())
		}
		last := g.next+1 == len(g.group) || (g.next+1)%group.Max == 0
		g.subscribe(r, !last)
		steps += Steps + r.sent.Parts()
		if last {
			g.told = make(map[laneTag]struct{})
		}
	}
	return steps, true
}

// standing returns the job that sends the positions, on earlier connections, of the tags
// that the publisher owes a request, if they were not sent with the group.
func (g *sender[S]) standing(r *Request[S]) workqueue.Job {
	return g.asker.side.Stands(Standing{
		Lane: r.lane, Set: r.sent,
		Due: func(tag tags.Tag) bool {
			if !r.Owes(tag) {
				return false
			}
			key := laneTag{r.lane, tag}
			_, told := g.told[key]
			g.told[key] = struct{}{}
			return !told
		},
		Tell: func(p subscription.Position) { g.queue(r.id, g.list.Add(p)) },
	})
}

// queue queues a list of positions, if it is full.
func (g *sender[S]) queue(id uint64, list []byte) {
	if list != nil {
		g.asker.side.Queue(&subscription.Positions{ID: id, List: list})
	}
}

// subscribe queues the messages that ask for a request.
func (g *sender[S]) subscribe(r asked[S], withNext bool) {
	side := g.asker.side
	side.Stay()
	m := side.Message(r.Sub)
	m.Resume, m.WithNext = r.resume, withNext
	parts, err := group.Parts(m, r.sent)
	if err != nil {
		side.Fail(err)
		return
	}
	for _, part := range parts {
		side.Queue(part)
	}
}
