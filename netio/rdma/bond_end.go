// SPDX-License-Identifier: Apache-2.0

//go:build libfabric && cgo

package rdma

import "time"

const (
	// partTime is how long an endpoint that ends waits for the answer to its
	// goodbye.
	partTime = time.Second

	// spoilTime is how long it then waits for sends that do not end: the other
	// side has stopped, or has died without a report of the provider.
	spoilTime = 3 * time.Second

	// spoilGrace is for what the provider is just reading.
	spoilGrace = 200 * time.Millisecond
)

// part begins to end an endpoint without connection: its memory is given back when
// the provider is through with what was posted. It sends goodbye, unless the
// other side has done so.
func (e *endpoint) part(before state, cause error) {
	b := e.backend
	b.post() // what is refused is not sent any more
	e.state, e.before, e.cause = parting, before, cause
	b.Alarms.Cancel(&e.retry)
	if e.gone = e.gone || e.peerGone || e.broken != nil; !e.peerGone {
		e.hub.mail(e, e.peerAddr, frame{frameGoodbye, e.to, e.queue.posted})
	}
	e.limit.F = e.partLimit
	b.Alarms.Set(&e.limit, partTime)
	e.tryPart()
}

// takeBack sends goodbye for an endpoint that was accepted and is still connecting.
func (e *endpoint) takeBack() {
	if !e.active && e.peerAddr != nil {
		e.hub.mail(nil, e.peerAddr, frame{frameGoodbye, e.to, 0})
	}
}

// tryPart ends the endpoint if nothing is left to wait for.
func (e *endpoint) tryPart() {
	if e.state == parting && e.gone && e.queue.done == e.queue.posted {
		e.finishEnd(e.before, e.cause)
	}
}

// partLimit does not wait for the answer any longer.
func (e *endpoint) partLimit() {
	e.gone = true
	e.limit.F = e.spoil
	e.backend.Alarms.Set(&e.limit, spoilTime-partTime)
	e.tryPart()
}

// spoil makes sure that what the provider still has of this endpoint's sends is
// not taken for messages if it is read after all: the memory of their data will be
// used again. That of their frames will not.
func (e *endpoint) spoil() {
	q := &e.queue
	e.backend.warn("sends have not ended: the peer may have stopped", "remote", e.Remote(), "sends", q.posted-q.done)
	e.spoiled = true
	for i := q.done; i != q.posted; i++ {
		clear(q.withPrefix(i)[:frameBytes])
	}
	e.limit.F = func() { e.finishEnd(e.before, e.cause) }
	e.backend.Alarms.Set(&e.limit, spoilGrace)
}

// leaveHub undoes join.
func (e *endpoint) leaveHub() {
	h := e.hub
	e.sayGone()
	e.backend.post() // nothing of it may be posted any more
	delete(h.users, e.number&generation)
	if e.spoiled {
		h.kept = append(h.kept, e.closeSend)
		if e.backend.SharedPool() == nil && e.Pool != nil {
			h.kept = append(h.kept, e.Pool.Retire)
		}
	} else {
		e.closeSend()
		if e.peerAddr != nil {
			h.dropAddress(e.peerAddr)
		}
	}
	e.held, e.early = nil, nil
	h.enqueue() // it may have been the last
}

// endBonds ends the endpoints without connection of a backend that closes. It
// waits, but not for long, for what is under way: then their hubs are closed.
func (b *backend) endBonds() {
	for limit := time.Now().Add(endTime); time.Now().Before(limit); {
		left := false
		for at := b.endpoints.Front(); at != nil; {
			e := at.Value.(*endpoint)
			at = at.Next()
			e.tryPart()
			left = left || e.state != ended
		}
		for _, h := range b.hubs {
			h.sendLetters()
			left = left || !h.letters.idle()
			b.look(h)
		}
		if !left {
			break
		}
		b.cross()
		b.serve()
	}
	for len(b.hubs) > 0 {
		h := b.hubs[0]
		h.closeEP()
		for _, e := range h.users {
			e.finishEnd(e.before, e.cause)
		}
		h.close()
	}
}

// endTime is how long a backend that closes waits for what is under way.
const endTime = 250 * time.Millisecond
