// SPDX-License-Identifier: Apache-2.0

//go:build libfabric && cgo

package rdma

import (
	"slices"

	"tagbus/netio/rdma/internal/fi"
)

const (
	// turnRounds and turnBytes are what a turn does at most before the loop
	// looks at its other sources.
	turnRounds = 16
	turnBytes  = 8 << 20

	// connectBytes is what a connection that is opened counts.
	connectBytes = turnBytes / 32
)

// crossing is what goes to C and comes back. Only in a step.
type crossing struct {
	ring   *fi.Ring
	rest   *fi.Ring // for what is left in the queue of an endpoint that ends
	ops    int      // in the ring, to be posted
	owners []poster // of the ops
	posts  uint64   // how often ops were posted

	ready []reader // whose completion queues are to be read

	// The completions of the last crossing. A callback that panics leaves the
	// rest of them to the next step.
	batch []reader // whose queues were read, one of the ring's Drains each
	drain int      // of batch, is being served
	next  int      // completion to be served
	end   int      // of those of drain

	moved int // bytes sent and received since the turn began
}

// poster posts requests: an endpoint, or the pool of a shared receive context.
type poster interface {
	// refused says that op was not posted. It is called where op may be called,
	// and does not call it.
	refused(op *fi.Op)
}

func (c *crossing) init() {
	c.ring = fi.NewRing(ringOps, ringDrains, ringDone)
	c.rest = fi.NewRing(1, 1, drainEach)
	c.owners = make([]poster, 0, ringOps)
}

func (c *crossing) free() {
	c.ring.Free()
	c.rest.Free()
}

// op returns a request to be filled, which is posted at the end of the turn or
// before. What is in it is old.
func (b *backend) op(owner poster) *fi.Op {
	c := &b.crossing
	if c.ops == len(c.ring.Ops) {
		b.post()
	}
	op := &c.ring.Ops[c.ops]
	op.Addr = fi.AnyAddr
	c.ops++
	c.owners = append(c.owners, owner)
	return op
}

// post posts what is to be posted, now.
func (b *backend) post() {
	if b.crossing.ops > 0 {
		b.crossing.ring.Turn(b.crossing.ops, 0, 0)
		b.posted()
	}
}

// posted calls refused for the requests that the last crossing has not posted.
func (b *backend) posted() {
	c := &b.crossing
	for i, owner := range c.owners {
		if op := &c.ring.Ops[i]; op.Err() != 0 {
			owner.refused(op)
		}
	}
	clear(c.owners)
	c.owners = c.owners[:0]
	c.ops = 0
	c.posts++
}

// cross posts, and reads the queues that are ready. serve follows.
func (b *backend) cross() {
	c := &b.crossing
	c.batch, c.drain, c.next, c.end = c.batch[:0], 0, 0, 0
	n := 0
	for _, r := range c.ready {
		if len(c.batch) == ringDrains {
			break
		}
		n++
		w := r.watched()
		w.ready = false
		if w.cq != nil {
			c.ring.Drains[len(c.batch)] = w.drain
			c.batch = append(c.batch, r)
		}
	}
	c.ready = slices.Delete(c.ready, 0, n)
	c.ring.Turn(c.ops, len(c.batch), drainEach)
	b.posted()
	if len(c.batch) > 0 {
		c.end = c.ring.Drains[0].Count()
	}
}

// serve makes the callbacks of the last crossing.
func (b *backend) serve() {
	c := &b.crossing
	for c.drain < len(c.batch) {
		c.batch[c.drain].serve(&c.ring.Drains[c.drain])
		c.batch[c.drain] = nil
		if c.drain++; c.drain < len(c.batch) {
			c.end += c.ring.Drains[c.drain].Count()
		}
	}
}

// PrepareWait implements reactor.PrepareWaiter: it is the end of a turn.
func (b *backend) PrepareWait() (sleep bool) {
	b.Turn.Lock()
	defer b.Turn.Unlock()
	if b.Finished {
		return true
	}
	through := false
	defer func() {
		if !through { // a callback panicked
			b.Wake()
		}
	}()
	b.crossing.moved = 0
	for range turnRounds {
		b.serve() // what a panic has left
		b.List.Refill()
		for b.List.Left() > 0 && b.crossing.moved < turnBytes {
			b.List.Take().Work()
		}
		if b.Finished {
			break
		}
		if b.isIdle() || b.crossing.moved >= turnBytes {
			break
		}
		if b.crossing.ops > 0 || len(b.crossing.ready) > 0 {
			b.cross()
			b.serve()
		}
	}
	through = true
	return b.Finished || b.isIdle()
}

// isIdle reports whether nothing is left to be done.
func (b *backend) isIdle() bool {
	c := &b.crossing
	return c.ops == 0 && len(c.ready) == 0 && b.List.Left() == 0 && !b.List.Waiting()
}
