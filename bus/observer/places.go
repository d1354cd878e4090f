// SPDX-License-Identifier: Apache-2.0

package observer

import (
	"errors"
	"slices"

	"tagbus/bus/internal/dialer"
	"tagbus/bus/internal/ways"
)

// A backend opens one connection to an address, and an observer keeps so many in all. So a
// peer may have to wait for an address, or for a place, that another one has. Those that
// have it and do not use it give way.
//
// Everything here runs on the loop.

// errTaken is the error of an address to which another peer has a connection.
var errTaken = errors.New("observer: another entry has the address")

// place takes a place for a peer, or queues it.
func (o *Observer) place(p *peer) bool {
	if o.placed < o.cfg.MaxConnections {
		o.placed++
		p.placed = true
		return true
	}
	if !slices.Contains(o.queue, p) {
		o.queue = append(o.queue, p)
	}
	for e := o.idle.Front(); e != nil; e = e.Next() {
		if other := e.Value.(*peer); other.fault == nil {
			other.fail(errTaken)
			break
		}
	}
	return false
}

// unplace frees the place of a peer, for the next one.
func (o *Observer) unplace(p *peer) {
	if !p.placed {
		return
	}
	p.placed = false
	o.placed--
	for len(o.queue) > 0 && o.placed < o.cfg.MaxConnections {
		next := o.queue[0]
		o.queue = o.queue[1:]
		next.work()
		o.forget(next)
	}
}

// rest keeps a connection that no question uses, unless another peer waits for its place or
// its address.
func (p *peer) rest() {
	if len(p.questions) > 0 {
		return
	}
	p.use()
	p.idle = p.o.idle.PushBack(p)
	if len(p.o.queue) > 0 || len(p.o.blocked[ways.TargetOf(p.ep)]) > 0 {
		p.fail(errTaken)
	}
}

// use takes a connection out of those that no question uses.
func (p *peer) use() {
	if p.idle != nil {
		p.o.idle.Remove(p.idle)
		p.idle = nil
	}
}

// block makes a peer wait for an address that another one has.
func (o *Observer) block(p *peer, addr dialer.Target, owner *peer) {
	if !slices.Contains(o.blocked[addr], p) {
		o.blocked[addr] = append(o.blocked[addr], p)
	}
	if owner.idle != nil {
		owner.fail(errTaken)
	}
}

// isBlocked reports whether a peer waits for an address.
func (o *Observer) isBlocked(p *peer) bool {
	for _, blocked := range o.blocked {
		if slices.Contains(blocked, p) {
			return true
		}
	}
	return false
}

// free notes that no connection to an address is there, or being opened, any more.
func (o *Observer) free(addr dialer.Target) {
	delete(o.taken, addr)
	blocked := o.blocked[addr]
	delete(o.blocked, addr)
	for _, p := range blocked {
		p.work()
		o.forget(p)
	}
}

// forget drops a peer that has no connection and no question.
func (o *Observer) forget(p *peer) {
	if p.ep == nil && p.Idle() && !p.placed && len(p.questions) == 0 && o.peers[p.entry.Instance] == p {
		delete(o.peers, p.entry.Instance)
	}
}
