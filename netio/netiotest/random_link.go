// SPDX-License-Identifier: Apache-2.0

package netiotest

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"

	"pgregory.net/rapid"

	"tagbus/netio"
)

// walkLink is one accepted OpenEndpoint of a walk and the connection that may
// come of it. It is the Context of the endpoint.
type walkLink struct {
	number   int       // in walk.links
	from, to *walkNode // to: who listened then
	addr     netip.AddrPort
	through  *walkListener // nil: there was no listener

	// What the model knows.
	void       bool // OpenEndpoint did not accept it, as there was another one
	over       bool // it may have ended, or may never be
	ending     bool // its connection was established and will end
	mustRefuse bool
	ends       [2]*end      // opened, accepted; nil: not known
	owners     [2]*walkNode // of the ends
	held       [2][]heldBuffer
	holds      [2]int // calls of hold that unhold has not come back to

	// Guarded by the lock of from.
	snap    bool // close it inside OnConnectionEstablished
	redials int  // how often to open it again inside the callback of its end
	opened  *end
	local   netip.AddrPort
}

// GoString is how a failing run names l.
func (l *walkLink) GoString() string { return fmt.Sprintf("link %d", l.number) }

// open opens a connection to a slot, with or without a listener there. If there was
// one before, open waits for its end: otherwise the model cannot know the outcome.
func (w *walk) open(rt *rapid.T) {
	i, slot := w.pickSlot(rt)
	l := &walkLink{number: len(w.links), from: w.nodes[1-i], to: w.nodes[i], addr: slot.addr, through: slot.l, mustRefuse: slot.silent}
	l.over = slot.l == nil || slot.l.over
	special := rapid.IntRange(0, 9).Draw(rt, "special")
	wait := rapid.Bool().Draw(rt, "wait")
	if before := w.before(l); before != nil {
		if !before.over {
			w.dial(rt, l) // without success
			return
		}
		if rapid.Bool().Draw(rt, "wait for the end before") {
			w.quiet(rt, before)
		} else {
			l.over = true
		}
	}
	if slot.l != nil && !l.over {
		// A trap for one before may not have snapped: that one ended unseen, or what
		// another loop has accepted overtakes it.
		l.to.locked(func() { slot.l.snap = false })
	}
	switch special {
	case 0:
		l.snap, l.over = true, true
	case 1:
		l.redials = rapid.IntRange(1, 3).Draw(rt, "redials")
	case 2:
		if slot.l != nil {
			l.to.locked(func() { slot.l.snap = true })
			l.over = true
		}
	}
	w.links = append(w.links, l)
	l.void = !w.dial(rt, l)
	if l.void && slot.l != nil {
		l.to.locked(func() { slot.l.snap = false })
	}
	if wait || special == 2 {
		w.outcome(rt, l)
	}
}

// before returns the last link that was opened as l is to be, or nil.
func (w *walk) before(l *walkLink) *walkLink {
	for _, other := range slices.Backward(w.links) {
		if other.from == l.from && other.addr == l.addr {
			return other
		}
	}
	return nil
}

// quiet waits until all that was opened as l was, which is over, has ended.
func (w *walk) quiet(t TB, l *walkLink) {
	t.Helper()
	for {
		var last *walkLink
		ended := true
		l.from.locked(func() {
			if all := l.from.dials[l.addr]; len(all) > 0 {
				last = all[len(all)-1]
				last.redials = 0
				ended = l.from.ended(last)
			}
		})
		if ended {
			return
		}
		last.over = true
		w.settleLink(t, last)
	}
}

// dial opens l, unless the model knows that there is, or may be, a connection
// already.
func (w *walk) dial(rt *rapid.T, l *walkLink) bool {
	p := w.params()
	p.Context = l
	n := l.from
	var err error
	var must, may bool
	n.call(func() {
		if all := n.dials[l.addr]; len(all) > 0 {
			last := all[len(all)-1]
			may = !n.ended(last)
			must = may && !last.over
		}
		if err = n.b.OpenEndpoint(l.addr, p); err == nil {
			n.dials[l.addr] = append(n.dials[l.addr], l)
		}
	})
	switch {
	case must, err != nil && may:
		opError(rt, "OpenEndpoint while one is open", err, l.addr, netio.ErrEndpointExists)
	case err != nil:
		rt.Fatalf("%s: OpenEndpoint(%v): got error %v, want none", n.name, l.addr, err)
	}
	return err == nil
}

// ended reports whether the outcome of a dial is that it was refused, or its
// connection has ended. It needs the lock.
func (n *walkNode) ended(l *walkLink) bool {
	if l.opened != nil {
		return l.opened.closed
	}
	return n.wasRefused(l)
}

// wasRefused reports whether a dial was refused. Those to one address follow each
// other, so the refusals belong to those without a connection, in their order.
// It needs the lock.
func (n *walkNode) wasRefused(l *walkLink) bool {
	before := 0
	for _, other := range n.dials[l.addr] {
		if other == l {
			break
		}
		if other.opened == nil {
			before++
		}
	}
	return l.opened == nil && n.refusals(l.addr) > before
}

// refusals counts the refusals of an address. It needs the lock.
func (n *walkNode) refusals(addr netip.AddrPort) (count int) {
	for _, r := range n.refused {
		if r.addr == addr {
			count++
		}
	}
	return count
}

// established is called inside OnConnectionEstablished.
func (w *walk) established(n *walkNode, e *end) {
	local, remote := e.ep.Local(), e.ep.Remote()
	snap := false
	n.note(func() {
		switch c := e.context.(type) {
		case *walkLink:
			if c.opened != nil {
				n.problem("OnConnectionEstablished came twice for one OpenEndpoint(%v)", c.addr)
			}
			c.opened, c.local = e, local
			snap, c.snap = c.snap, false
		case *walkListener:
			n.accepted = append(n.accepted, &acceptance{end: e, at: local, remote: remote})
			snap, c.snap = c.snap, false
		default:
			n.problem("Context of a new endpoint: got %v, want that of its Params", e.context)
		}
	})
	if snap {
		n.closeInside(e)
	}
}

// outcome waits until it is known whether a dial of a living node was refused.
func (w *walk) outcome(t TB, l *walkLink) {
	t.Helper()
	if l.from.dead || l.void {
		return
	}
	l.from.wait(t, "the outcome of OpenEndpoint", func() bool { return l.opened != nil || l.from.wasRefused(l) })
}

// know finds the ends of l. It waits for both unless there may not be any.
func (w *walk) know(t TB, l *walkLink) {
	t.Helper()
	if !l.over {
		w.outcome(t, l)
	}
	l.from.locked(func() { l.ends[0], l.owners[0] = l.opened, l.from })
	switch {
	case l.ends[0] == nil && !l.over:
		t.Fatalf("%s: OpenEndpoint(%v): got OnConnectionRefused, want OnConnectionEstablished", l.from.name, l.addr)
	case l.ends[0] == nil || l.ends[1] != nil:
		return
	case !l.over:
		l.to.wait(t, "OnConnectionEstablished at the listen endpoint", func() bool { return l.to.findAccepted(l) != nil })
	}
	for _, n := range w.all {
		n.locked(func() {
			if a := n.findAccepted(l); a != nil && n.i != l.from.i && l.ends[1] == nil {
				a.claimed = true
				l.ends[1], l.owners[1] = a.end, n
			}
		})
	}
}

// findAccepted returns the other end of l that n has accepted, or nil. It needs
// the lock, and that the address of l is known.
func (n *walkNode) findAccepted(l *walkLink) *acceptance {
	for _, a := range n.accepted {
		if !a.claimed && a.at == l.addr && a.remote == l.local {
			return a
		}
	}
	return nil
}

// refusedOne is called inside OnConnectionRefused.
func (w *walk) refusedOne(n *walkNode, addr netip.AddrPort) {
	var again *walkLink
	n.locked(func() {
		if all := n.dials[addr]; len(all) > 0 && n.wasRefused(all[len(all)-1]) {
			again = all[len(all)-1]
		}
	})
	if again != nil {
		w.redial(n, again)
	}
}

// closedOne is called inside OnConnectionClosed.
func (w *walk) closedOne(n *walkNode, e *end) {
	if err := e.send(e.ways()[0], 0, nil, n.word); !errors.Is(err, netio.ErrClosed) {
		n.complain("send inside OnConnectionClosed: got error %v, want %v", err, netio.ErrClosed)
	}
	if l, ok := e.context.(*walkLink); ok {
		w.redial(n, l)
	}
}

// redial opens inside the callback of its end what has ended. The walk knows
// of what comes of it only when all is over.
func (w *walk) redial(n *walkNode, l *walkLink) {
	p := w.params()
	n.call(func() {
		if l.redials == 0 {
			return
		}
		again := &walkLink{from: n, addr: l.addr, redials: l.redials - 1, over: true}
		p.Context = again
		err := n.b.OpenEndpoint(l.addr, p)
		switch {
		case err == nil:
			n.dials[l.addr] = append(n.dials[l.addr], again)
		case !errors.Is(err, netio.ErrClosed) && !errors.Is(err, netio.ErrEndpointExists):
			n.problem("OpenEndpoint inside the callback of the end: got error %v, want none", err)
		}
	})
}
