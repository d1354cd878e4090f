// SPDX-License-Identifier: Apache-2.0

package fanout

import "tagbus/bus/internal/ring"

// The end of a connection. Of small pages its lanes may hold very many, so that they are
// dropped in slices. Nothing waits for them meanwhile: a lane that is dead has room.

// Kill notes the end of the connection. What is queued stays until Bury. Until the lanes
// are out of all routes, further pages are dropped as they come. Loop only.
func (box *Outbox) Kill() {
	box.mu.Lock()
	if box.ownOnly && !box.dead {
		box.fan.ownOnly.Add(-1)
	}
	box.dead = true
	for _, n := range box.Lanes {
		n.dead.Store(true)
	}
	box.relieve()
	box.mu.Unlock()
	box.fan.roomFreed()
}

// Bury is the job that comes after Kill. It drops what is queued, counts it for each lane,
// and settles all receipts. Loop only.
func (box *Outbox) Bury(budget int) (steps int, done bool) {
	for box.inFlight.Len() > 0 && steps < budget { // no other goroutine touches the queues once dead is set
		if i := box.inFlight.Pop(); i.page != nil {
			steps += i.lane.discard(i.page)
		}
	}
	for _, n := range box.Lanes {
		for _, queue := range []*ring.Ring[item]{&n.queue, &n.held} {
			for queue.Len() > 0 && steps < budget {
				if steps++; queue.Front().page != nil {
					box.forsake(queue.Front().page.receipt, ErrLost)
					steps += n.discard(queue.Front().page)
				}
				queue.Pop()
			}
		}
	}
	if steps >= budget {
		return steps, false
	}
	more, done := box.abandon(budget - steps)
	return steps + more, done
}

// BuryAll does all of Bury at once.
func (box *Outbox) BuryAll() {
	for done := false; !done; {
		_, done = box.Bury(1 << 20)
	}
}

// discard drops a page with the connection, and returns the cost.
func (n *Lane) discard(p *page) (steps int) {
	n.out.mu.Lock()
	n.dropped += uint64(p.messages)
	n.out.mu.Unlock()
	n.drop(p)
	return discardSteps
}

const discardSteps = 3 // cost of a page that is dropped
