// SPDX-License-Identifier: Apache-2.0

package fanout

import (
	"slices"
	"sync/atomic"
	"time"

	"tagbus/bus/internal/ledger"
	"tagbus/bus/internal/positions"
	"tagbus/bus/internal/ring"
	"tagbus/subscription"
	"tagbus/tags"
)

// Lane is one queue of pages to one subscriber. The subscriptions with the same policy
// share it. Those with another policy have another lane of the same connection, so that
// neither policy affects the other. Its exported fields do not change.
type Lane struct {
	out    *Outbox
	id     subscription.LaneID // in routes and in the table
	Number uint16              // on the wire
	Policy subscription.Policy // of all subscriptions in it
	limit  int64               // of pinned
	mark   uint64              // see routes
	own    *stream             // that no other lane shares, or nil; Fanout.Mu
	routes int                 // that lead to it; Fanout.Mu
	gone   bool                // its connection leaves: every move of a tag takes it off; Fanout.Mu
	rest   *rest               // what is left of own, once gone; Fanout.Mu

	// transit has the sets of changing subscriptions, while the tags that they give up
	// are taken off the routes; Fanout.Mu.
	transit []change

	// ceded has the sets that subscriptions have given up, by their ids, as long as routes of
	// their tags may lead here; Fanout.Mu.
	ceded map[uint64]tags.Set

	// entering: tags of new subscriptions have yet to move; Fanout.Mu.
	entering bool

	// Account has what the lane did not get.
	Account *ledger.Lane

	// pinned counts the bytes of the pages that are reserved for, queued to or sent by this
	// lane. It bounds how far a slow subscriber can be behind.
	pinned atomic.Int64

	dead    atomic.Bool // Kill was called: what comes is dropped, so there is always room
	refuses atomic.Bool // a message found no room, and none was announced since; only if lossless
	stuck   time.Time   // since then the lane has something waiting that does not go; loop only

	// Guarded by Outbox.mu.
	queue   ring.Ring[item]      // to be sent, in order
	awaited map[*stream]struct{} // that have something under construction, until the lane is not busy
	held    ring.Ring[item]      // pages that must stay behind an acknowledgement
	corked  bool

	givenMessages uint64      // to the transport
	sentMessages  uint64      // by the transport
	dropped       uint64      // messages, with the connection
	ackedMessages uint64      // of givenMessages: up to the last one that an Ack has answered
	said          ledger.Said // loop only
}

// LaneBytes returns how many bytes of pages a lane that asks for a backlog may hold; 0:
// the most. It is a page at least.
func (fan *Fanout) LaneBytes(backlogBytes uint64) int64 {
	most := int64(fan.cfg.QueueBytes)
	if backlogBytes == 0 {
		return most
	}
	return max(int64(fan.cfg.PageBytes), int64(min(backlogBytes, uint64(most))))
}

// LaneBytes returns how many bytes of pages all lanes together may hold. Loop only.
func (box *Outbox) LaneBytes() (bytes int64) {
	for _, n := range box.Lanes {
		bytes += n.limit
	}
	return bytes
}

// open makes a lane. Loop only, and Fanout.Mu is held.
//
//   - number: on the wire; no other lane of box has it.
//   - backlogBytes: that it asks for; 0: the most.
func (box *Outbox) open(number uint16, policy subscription.Policy, backlogBytes uint64, account *ledger.Lane) *Lane {
	fan := box.fan
	n := &Lane{
		out: box, Number: number, Policy: policy, Account: account,
		limit: fan.LaneBytes(backlogBytes), mark: newMark(), stuck: time.Now(),
	}
	if last := len(fan.freeIDs) - 1; last >= 0 {
		n.id, fan.freeIDs = fan.freeIDs[last], fan.freeIDs[:last]
	} else {
		n.id = subscription.LaneID(len(fan.lanes))
	}
	fan.lanes[n.id] = n
	box.mu.Lock()
	box.wake()
	box.Lanes = append(box.Lanes, n)
	box.mu.Unlock()
	return n
}

// Free frees the ids of the lanes, to which no route leads any more. Fanout.Mu is held.
// Loop only.
func (box *Outbox) Free() {
	fan := box.fan
	for _, n := range box.Lanes {
		delete(fan.lanes, n.id)
		fan.freeIDs = append(fan.freeIDs, n.id)
	}
}

// alone reports whether the lane's policy decides message by message, so that it
// cannot share pages with other lanes.
func (n *Lane) alone() bool {
	return n.Policy.Kind == subscription.Latest || n.Policy.Kind == subscription.Sample
}

// enqueue queues a page with reserved room. It takes over one reference of the caller.
//
//   - direct: the caller sends it, if the connection is idle.
//   - taken: it has done so, and the system has all of it.
func (n *Lane) enqueue(p *page, direct bool) (taken bool) {
	box := n.out
	box.mu.Lock()
	if box.dead {
		n.dropped += uint64(p.messages)
		box.mu.Unlock()
		p.receipt.settle(ErrLost, true)
		n.drop(p)
		return false
	}
	box.expect(p.receipt)
	switch {
	case n.corked:
		n.held.Push(item{page: p})
	case direct && box.idle():
		taken = box.sendDirect(n, p)
	default:
		n.queue.Push(item{page: p})
		box.pump()
	}
	box.mu.Unlock()
	if taken {
		n.drop(p)
	}
	return taken
}

// drop releases a sealed page that this lane does not hold any more.
func (n *Lane) drop(p *page) {
	tell := n.unpin(int64(p.bytes))
	n.countPage(-1)
	n.out.fan.release(p)
	if tell {
		n.out.fan.roomFreed()
	}
}

// cork holds back further pages until uncork: an acknowledgement under construction
// must come before them.
func (n *Lane) cork() {
	n.out.mu.Lock()
	n.corked = true
	n.out.mu.Unlock()
}

// uncork queues pages of old messages, and then the held-back pages.
func (n *Lane) uncork(old []*page) {
	box := n.out
	box.mu.Lock()
	n.corked = false
	for _, p := range old { // the loop is here, so the link cannot die meanwhile
		n.queue.Push(item{page: p})
	}
	for n.held.Len() > 0 {
		n.queue.Push(n.held.Pop())
	}
	if !box.dead {
		box.pump()
	}
	box.mu.Unlock()
}

// told queues the known losses, and then the positions, of tags that the subscription
// with an id has made active. They go in front of the held-back pages.
func (n *Lane) told(queue *ring.Ring[item], id uint64, j joined) {
	j.totals.Lists(func(cause subscription.Cause, counts []subscription.Position) {
		for list := range positions.Lists(counts) {
			n.out.sendIn(queue, n, &subscription.Lost{Lane: n.Number, Cause: cause, List: list, Total: true})
		}
	})
	slices.SortFunc(j.positions, positions.Compare)
	for list := range positions.Lists(j.positions) {
		n.out.sendIn(queue, n, &subscription.Positions{ID: id, List: list})
	}
}

// finals sends the final positions of tags, behind their pages, also held-back ones.
// Loop only, or Fanout.Mu is held, so that cork and uncork are not called meanwhile.
func (n *Lane) finals(of []subscription.Position) {
	queue := &n.queue
	if n.corked {
		queue = &n.held
	}
	for list := range positions.Lists(of) {
		n.out.sendIn(queue, n, &subscription.Goodbye{Lane: n.Number, List: list})
	}
}
