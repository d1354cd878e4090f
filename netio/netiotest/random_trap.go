// SPDX-License-Identifier: Apache-2.0

package netiotest

import (
	"errors"

	"pgregory.net/rapid"

	"tagbus/netio"
)

// Callbacks in which a trap can snap.
const (
	inData      = "OnData"
	inCompleted = "OnSendCompleted"
	inReady     = "OnSendReady"
)

// trap is something that happens inside a callback of an endpoint.
type trap struct {
	where  string
	before int // calls of it to let pass
	snap   func()
}

// trapOne makes an endpoint, or the listen endpoint that has accepted it, close inside a
// callback that is to come, and sends what makes it come.
func (w *walk) trapOne(rt *rapid.T) {
	l, i := w.pick(rt)
	t := &trap{
		where:  rapid.SampledFrom([]string{inData, inCompleted, inReady}).Draw(rt, "inside"),
		before: rapid.IntRange(0, 3).Draw(rt, "before"),
	}
	listener := rapid.IntRange(0, 3).Draw(rt, "what") == 0
	way := w.drawWay(rt)
	header, data := w.message(rt, way)
	e, n := l.ends[i], l.owners[i]
	if listener && l.through != nil {
		// All that it has accepted may end now, and all that it will accept.
		l.through.over = true
		for _, other := range w.links {
			other.over = other.over || other.through == l.through
		}
		t.snap = func() { n.closeListenerInside(l.through) }
	} else {
		l.over = true
		t.snap = func() { n.closeInside(e) }
	}
	if e == nil || n.dead || listener && i == 0 {
		return
	}
	messages := t.before + 1 // of t, only the loop knows from here on
	n.locked(func() { n.traps[e] = t })
	from := i // completions and readiness come where is sent
	if t.where == inData {
		from = 1 - i
	}
	for key := range netio.Key(messages) {
		w.trySend(rt, l, from, way, key, header, data)
	}
}

// spring is called inside the callbacks of e.
func (n *walkNode) spring(e *end, where string) {
	var snap func()
	n.locked(func() {
		t := n.traps[e]
		if t == nil || t.where != where {
			return
		}
		if t.before--; t.before < 0 {
			snap = t.snap
			delete(n.traps, e)
		}
	})
	if snap != nil {
		snap()
	}
}

// closeInside closes an endpoint inside one of its callbacks, behind a send
// that this cancels, and before one that is refused.
func (n *walkNode) closeInside(e *end) {
	way := e.ways()[len(e.ways())-1]
	err := e.send(way, 1, nil, n.word)
	if err != nil && !errors.Is(err, netio.ErrNoResources) && !errors.Is(err, netio.ErrClosed) {
		n.complain("send inside a callback: got error %v, want none, %v or %v", err, netio.ErrNoResources, netio.ErrClosed)
	}
	e.r.call(func() {
		if err = e.ep.Close(); err == nil {
			e.closing = true
		}
	})
	if err != nil && !errors.Is(err, netio.ErrClosed) {
		n.complain("Close inside a callback: got error %v, want none or %v", err, netio.ErrClosed)
	}
	if err := e.send(way, 2, nil, n.word); !errors.Is(err, netio.ErrClosed) {
		n.complain("send after Close: got error %v, want %v", err, netio.ErrClosed)
	}
}

// closeListenerInside closes a listen endpoint inside a callback.
func (n *walkNode) closeListenerInside(l *walkListener) {
	if err := l.Close(); err != nil && !errors.Is(err, netio.ErrClosed) {
		n.complain("ListenEndpoint.Close inside a callback: got error %v, want none or %v", err, netio.ErrClosed)
	}
}
