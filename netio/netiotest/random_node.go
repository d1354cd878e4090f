// SPDX-License-Identifier: Apache-2.0

package netiotest

import (
	"errors"
	"net/netip"
	"slices"
	"syscall"

	"pgregory.net/rapid"

	"tagbus/netio"
)

// walkTurns is in how many turns of its loop a closed listen endpoint frees its
// address, behind all that the loop has to do.
const walkTurns = 10_000

// walkNode is one backend of a walk, from its opening to its end.
type walkNode struct {
	*side
	i    int  // its place in walk.nodes
	dead bool // closed

	// Guarded by the recorder's lock.
	dials    map[netip.AddrPort][]*walkLink // those that OpenEndpoint has accepted
	accepted []*acceptance
	traps    map[*end]*trap
}

// acceptance is a connection that a listen endpoint of a walk has accepted.
type acceptance struct {
	*end
	at, remote netip.AddrPort
	claimed    bool // its link is known
}

// walkSlot is an address of a node at which it listens now and then.
type walkSlot struct {
	addr   netip.AddrPort
	l      *walkListener // nil: closed
	silent bool          // it certainly listens no more
}

// walkListener is a listen endpoint of a walk, and the Context of the endpoints
// that it accepts.
type walkListener struct {
	netio.ListenEndpoint
	snap bool // guarded by the lock of the node: close the next one that is accepted
	over bool // it may be closed already
}

// adopt makes x the node i of the walk.
func (w *walk) adopt(i int, x *side) {
	n := &walkNode{side: x, i: i, dials: map[netip.AddrPort][]*walkLink{}, traps: map[*end]*trap{}}
	n.hook(hooks{
		established: func(e *end) { w.established(n, e) },
		refused:     func(addr netip.AddrPort) { w.refusedOne(n, addr) },
		data:        func(e *end, _ []byte) { n.spring(e, inData) },
		completed:   func(e *end, _ netio.Key) { n.spring(e, inCompleted) },
		ready:       func(e *end) { n.spring(e, inReady) },
		closed:      func(e *end) { w.closedOne(n, e) },
	})
	w.nodes[i] = n
	w.all = append(w.all, n)
}

// note writes something down under the lock, for those who wait.
func (n *walkNode) note(f func()) {
	n.locked(func() {
		f()
		close(n.changed)
		n.changed = make(chan struct{})
	})
}

// complain notes a problem.
func (n *walkNode) complain(format string, args ...any) {
	n.note(func() { n.problem(format, args...) })
}

// listen opens the listen endpoint of a slot.
func (w *walk) listen(t TB, i int, slot *walkSlot, addr netip.AddrPort) {
	t.Helper()
	n := w.nodes[i]
	l := &walkListener{}
	p := w.params()
	p.Context = l
	var err error
	open := func(addr netip.AddrPort) { l.ListenEndpoint, err = n.b.OpenListenEndpoint(addr, p) }
	open(addr)
	for turns := 0; turns < walkTurns && errors.Is(err, netio.ErrListenEndpointExists); turns++ {
		n.onLoop(t, func() {}) // the end of the one before is asynchronous
		open(addr)
	}
	if errors.Is(err, syscall.EADDRINUSE) && addr.Port() != 0 {
		open(w.s.ListenAddr) // another process of this machine was given the port meanwhile
	}
	for err == nil && w.hasSlot(l.Addr(), slot) { // the system has picked the port of one that is closed
		other := l.ListenEndpoint
		open(w.s.ListenAddr)
		if err := other.Close(); err != nil {
			t.Errorf("%s: ListenEndpoint.Close: got error %v, want none", n.name, err)
		}
	}
	if err != nil {
		t.Fatalf("%s: OpenListenEndpoint(%v): got error %v, want none", n.name, addr, err)
	}
	slot.l, slot.addr, slot.silent = l, l.Addr(), false
	for _, link := range w.links { // that may come through now, if they are not refused yet
		if link.addr == slot.addr {
			link.mustRefuse = false
		}
	}
}

// hasSlot reports whether an address is that of another slot.
func (w *walk) hasSlot(addr netip.AddrPort, but *walkSlot) bool {
	for _, slots := range w.slots {
		if slices.ContainsFunc(slots[:], func(s *walkSlot) bool { return s != nil && s != but && s.addr == addr }) {
			return true
		}
	}
	return false
}

// listenOrClose closes a listen endpoint, or opens it again.
func (w *walk) listenOrClose(rt *rapid.T) {
	i, slot := w.pickSlot(rt)
	if slot.l == nil {
		w.listenAgain(rt, i, slot)
		return
	}
	n := w.nodes[i]
	shut := func() { w.closeListener(rt, slot) }
	if rapid.Bool().Draw(rt, "on the loop") {
		n.onLoop(rt, shut)
	} else {
		shut()
	}
	live := slices.DeleteFunc(slices.Clone(w.links), func(l *walkLink) bool { return l.over || l.through != slot.l })
	w.unlisten(slot)
	if rapid.Bool().Draw(rt, "wait") {
		for _, l := range live {
			// The end of those that it has accepted comes behind its own.
			w.settleLink(rt, l)
			slot.silent = slot.silent || l.ends[1] != nil
		}
	}
}

func (w *walk) pickSlot(rt *rapid.T) (int, *walkSlot) {
	i := rapid.IntRange(0, 1).Draw(rt, "node")
	return i, w.slots[i][rapid.IntRange(0, walkSlots-1).Draw(rt, "slot")]
}

func (w *walk) closeListener(rt *rapid.T, slot *walkSlot) {
	err := slot.l.Close()
	if err != nil && (!slot.l.over || !errors.Is(err, netio.ErrClosed)) {
		rt.Errorf("ListenEndpoint.Close: got error %v, want none", err)
	}
}

// unlisten is what the model knows of the end of a listen endpoint.
func (w *walk) unlisten(slot *walkSlot) {
	w.end(func(l *walkLink) bool { return l.through == slot.l })
	slot.l = nil
}

// listenAgain opens a slot at the address that it had, or at a new one.
func (w *walk) listenAgain(rt *rapid.T, i int, slot *walkSlot) {
	addr := w.s.ListenAddr
	if rapid.Bool().Draw(rt, "same address") {
		addr = slot.addr
	}
	w.listen(rt, i, slot, addr)
}

// kill closes a whole backend in the middle of whatever it does, perhaps with a
// connection that is full, and opens its successor, which listens at none, some
// or all of its addresses.
func (w *walk) kill(rt *rapid.T) {
	if rapid.IntRange(0, 2).Draw(rt, "seldom") > 0 {
		rt.Skip("not now")
	}
	n := w.nodes[rapid.IntRange(0, 1).Draw(rt, "node")]
	i := slices.IndexFunc(w.links, func(l *walkLink) bool { return !l.over && (l.from == n || l.to == n) })
	if i >= 0 && rapid.Bool().Draw(rt, "full") {
		w.know(rt, w.links[i])
		w.fill(rt, w.links[i])
	}
	ways := []string{"close", "close on the loop"}
	if w.s.StopLoop != nil {
		ways = append(ways, "stop the loop")
	}
	switch rapid.SampledFrom(ways).Draw(rt, "how") {
	case "close on the loop":
		n.onLoop(rt, func() {
			if err := n.b.Close(); err != nil {
				rt.Errorf("Backend.Close on the loop: got error %v, want none", err)
			}
		})
	case "stop the loop":
		w.s.StopLoop(n.bare)
		n.loopID.Store(0) // what is left runs wherever Close is called
	}
	w.end(func(l *walkLink) bool { return l.from == n || l.to == n })
	w.bury(rt, n)
	x := openSide(rt, w.s, n.name)
	x.word = n.word
	w.adopt(n.i, x)
	for _, slot := range w.slots[n.i] {
		slot.l, slot.silent = nil, true
		if rapid.Bool().Draw(rt, "listen again") {
			w.listenAgain(rt, n.i, slot)
		}
	}
}

// bury closes the backend of n and checks what it leaves behind.
func (w *walk) bury(t TB, n *walkNode) {
	t.Helper()
	n.closeBackend(t)
	n.dead = true
	n.checkDials(t)
	n.checkEnds(t)
	n.checkStats(t)
}
