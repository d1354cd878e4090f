// SPDX-License-Identifier: Apache-2.0

package netiotest

import (
	"errors"
	"fmt"

	"pgregory.net/rapid"

	"tagbus/netio"
)

// end says that the connections of some links end, if they were established,
// and that those that are not yet may not be.
func (w *walk) end(which func(*walkLink) bool) {
	for _, l := range w.links {
		if !which(l) {
			continue
		}
		l.over = true
		l.from.locked(func() { l.ending = l.ending || l.opened != nil })
	}
}

// closeOne closes one end of a link, or both at the same time.
func (w *walk) closeOne(rt *rapid.T) {
	l, i := w.pick(rt)
	both := rapid.Bool().Draw(rt, "both")
	onLoop := rapid.Bool().Draw(rt, "on the loop")
	l.over = true
	w.closeEnd(rt, l, i, onLoop)
	if both {
		w.closeEnd(rt, l, 1-i, onLoop)
	}
}

// closeEnd closes an end of a link that is over, if it has it. The end may be closed
// already.
func (w *walk) closeEnd(t TB, l *walkLink, i int, onLoop bool) {
	t.Helper()
	e, n := l.ends[i], l.owners[i]
	if e == nil || n.dead {
		return
	}
	l.ending = true
	shut := func() {
		if err := e.ep.Close(); err != nil && !errors.Is(err, netio.ErrClosed) {
			n.complain("Close: got error %v, want none or %v", err, netio.ErrClosed)
		}
	}
	if onLoop {
		n.onLoop(t, shut)
	} else {
		shut()
	}
}

func (w *walk) resetOne(rt *rapid.T) {
	l, _ := w.pick(rt)
	if l.ends[0] == nil || l.ends[1] == nil {
		return
	}
	l.over, l.ending = true, true
	w.s.Reset(l.ends[0].ep, l.ends[1].ep)
}

// Unwrap returns the endpoint of the backend itself, for Suite.Reset.
func (e *marshalEndpoint) Unwrap() netio.Endpoint { return e.Endpoint }

func (w *walk) pauseOne(rt *rapid.T) {
	l, i := w.pick(rt)
	w.pauseEnd(rt, l, i)
}

func (w *walk) pauseEnd(rt *rapid.T, l *walkLink, i int) {
	if e, n := l.ends[i], l.owners[i]; e != nil && !n.dead {
		n.pause(rt, e)
	}
}

func (w *walk) resumeOne(rt *rapid.T) {
	l, i := w.pick(rt)
	w.resumeEnd(rt, l, i)
}

func (w *walk) resumeEnd(t TB, l *walkLink, i int) {
	t.Helper()
	if e, n := l.ends[i], l.owners[i]; e != nil && !n.dead {
		n.resume(t, e)
	}
}

// stall fills a link, at once with the close of an end or without.
func (w *walk) stall(rt *rapid.T) {
	l, i := w.pick(rt)
	shut := rapid.Bool().Draw(rt, "close")
	w.fill(rt, l)
	if shut {
		l.over = true
		w.closeEnd(rt, l, i, false)
	}
}

// fill stops both ends of a link to receive and has both send until there is no
// room. So what comes next, the close of an end or that of a backend, meets a
// connection that is full in both directions.
func (w *walk) fill(rt *rapid.T, l *walkLink) {
	way := w.drawWay(rt)
	header, data := w.message(rt, way)
	if way != buffered && rapid.Bool().Draw(rt, "large") {
		large := w.s.scaled(128 << 10)
		data = [][]byte{w.mem[:large], w.mem[1:large]} // together more than any system holds
	}
	for i := range l.ends {
		w.pauseEnd(rt, l, i)
	}
	for i := range l.ends {
		for key := range netio.Key(2 * suiteOutstanding) {
			if !w.trySend(rt, l, i, way, key, header, data) {
				break
			}
		}
	}
}

// settleOne lets everything under way on one link arrive, or end.
func (w *walk) settleOne(rt *rapid.T) {
	l, _ := w.pick(rt)
	w.settleLink(rt, l)
}

func (w *walk) resumeAll(t TB) {
	t.Helper()
	for _, l := range w.links {
		for i := range l.ends {
			w.resumeEnd(t, l, i)
		}
	}
}

func (w *walk) settleLink(t TB, l *walkLink) {
	t.Helper()
	if l.over {
		w.outcome(t, l)
	}
	w.know(t, l)
	l.release()
	if w.s.Config.SharedReceive.Enabled() {
		w.resumeAll(t) // a paused endpoint may keep the buffers from the others
	}
	for i := range l.ends {
		w.resumeEnd(t, l, i) // an end need not see the end behind unread bytes
	}
	if l.over {
		w.settleOver(t, l)
		return
	}
	for i, e := range l.ends {
		other := l.ends[1-i]
		e.waitIdle(t)
		other.waitReceived(t, len(e.sent))
		checkReceived(t, e, other, false)
		if !e.capabilities.Buffered || w.s.Config.SharedSend.Enabled() {
			continue
		}
		// All buffers are free again, and with them whatever was refused.
		w.takeAll(t, l.owners[i], e)
	}
}

// settleOver waits for the end of a connection that was established.
func (w *walk) settleOver(t TB, l *walkLink) {
	t.Helper()
	if !l.ending { // nothing need have ended it
		w.closeEnd(t, l, 0, false)
		w.closeEnd(t, l, 1, false)
	}
	for i, e := range l.ends {
		if e != nil && !l.owners[i].dead {
			l.owners[i].wait(t, fmt.Sprintf("OnConnectionClosed of end %d of %#v", i, l), func() bool { return e.closed })
		}
	}
	if l.ends[0] != nil && l.ends[1] != nil {
		checkReceived(t, l.ends[0], l.ends[1], true)
		checkReceived(t, l.ends[1], l.ends[0], true)
	}
}

// takeAll takes all buffers that e can have, none of which is in use, and signs
// them.
func (w *walk) takeAll(t TB, n *walkNode, e *end) {
	t.Helper()
	var all []*netio.Buffer
	for range w.s.buffers {
		all = append(all, n.buffer(t, e))
	}
	for _, b := range all {
		n.hop(func() { w.signed.sign(b) })
		n.release(b)
	}
}

// settle ends the walk.
func (w *walk) settle(rt *rapid.T) {
	last := rapid.IntRange(0, 1).Draw(rt, "closed last")
	for _, l := range w.links {
		l.release()
	}
	w.resumeAll(rt)
	for _, l := range w.links {
		w.settleLink(rt, l)
	}
	w.checkSharedBuffers(rt)
	w.bury(rt, w.nodes[1-last])
	w.bury(rt, w.nodes[last])
	w.checkLinks(rt)
	for _, b := range w.late {
		b.from.release(b.Buffer)
	}
	w.signed.check(rt)
}
