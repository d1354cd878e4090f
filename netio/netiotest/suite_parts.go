// SPDX-License-Identifier: Apache-2.0

package netiotest

import (
	"bytes"
	"slices"

	"tagbus/netio"
)

// partsChecks are about a handler that takes messages in parts. A backend that does not know
// of that passes them, too.
var partsChecks = []check{
	{"messages in parts come in the order of sending, with the others", checkParts},
	{"parts are unchanged until OnDataParts returns", checkPartsStable},
	{"parts that are not taken come in one", checkPartsRefused},
	{"after a pause inside OnDataParts not one more message comes", checkPartsPause},
	{"retained parts are unchanged until they are released", checkPartsRetain},
	{"a close inside OnDataParts is the end", checkPartsClose},
}

// partsRecorder is a recorder that takes messages in parts.
type partsRecorder struct{ *recorder }

// OnDataParts implements netio.PartsHandler.
func (r partsRecorder) OnDataParts(ep netio.Endpoint, head, data []byte) (taken bool) {
	defer r.enter()()
	var e *end
	h := r.record("OnDataParts", func() {
		if e = r.find("OnDataParts", ep); e == nil {
			return
		}
		if e.paused {
			r.problem("OnDataParts after PauseReceive was called on the loop")
		}
		if len(head) < 1 || len(head) > netio.MaxHeaderBytes || len(data) == 0 {
			r.problem("OnDataParts with %d and %d bytes, want 1 to %d and at least 1", len(head), len(data), netio.MaxHeaderBytes)
		}
		whole := slices.Concat(head, data)
		taken = r.hooks.refuses == nil || !r.hooks.refuses(e.parts)
		e.parts++
		if taken {
			e.received = append(e.received, whole)
		} else {
			e.offered = whole
		}
	})
	if taken && h.parts != nil {
		h.parts(e, head, data)
	}
	return taken
}

// connectParts is connectPair with handlers that take messages in parts.
func connectParts(t TB, s Suite) *pair {
	t.Helper()
	s.parts = true
	return connectPair(t, s, nil)
}

// sendHeaded sends n messages from the client, in all ways, with headers of all lengths and
// data of up to some bytes.
func (p *pair) sendHeaded(t TB, n, most int) {
	t.Helper()
	data := p.memory(t, most)
	header := []byte("0123456789abcdef")
	for i := range n {
		ways := p.opened.ways()
		w := ways[i%len(ways)]
		size := 1 + i*i*977%most
		head := header[:i%(netio.MaxHeaderBytes+1)]
		if w == buffered {
			size, head = min(size, p.s.bufferBytes), nil
		}
		p.opened.sendAll(t, w, netio.Key(i), head, data[most-size:])
	}
}

func checkParts(t TB, s Suite) {
	p := connectParts(t, s)
	for i, most := range []int{50, 5000, s.scaled(200 << 10)} {
		p.sendHeaded(t, 200, most)
		p.accepted.waitReceived(t, 200*(i+1))
	}
	p.opened.waitIdle(t)
	checkReceived(t, p.opened, p.accepted, false)
}

func checkPartsStable(t TB, s Suite) {
	p := connectParts(t, s)
	stable := func(e *end, parts ...[]byte) {
		e.answer(t)
		e.ep.PauseReceive()
		e.ep.ResumeReceive()
		if got, want := slices.Concat(parts...), e.received[len(e.received)-1]; !bytes.Equal(got, want) {
			t.Errorf("parts at the end of OnDataParts: got %s, want %s as at its beginning", shortBytes(got), shortBytes(want))
		}
	}
	p.server.hook(hooks{parts: func(e *end, head, data []byte) { stable(e, head, data) }, data: func(e *end, data []byte) { stable(e, data) }})
	p.sendHeaded(t, 200, 20_000)
	p.accepted.waitReceived(t, 200)
	p.unhook(t)
	p.opened.waitIdle(t)
	checkReceived(t, p.opened, p.accepted, false)
}

func checkPartsRefused(t TB, s Suite) {
	p := connectParts(t, s)
	p.server.hook(hooks{refuses: func(parts int) bool { return parts%3 != 0 }})
	p.sendHeaded(t, 200, 20_000)
	p.accepted.waitReceived(t, 200)
	p.unhook(t)
	p.opened.waitIdle(t)
	checkReceived(t, p.opened, p.accepted, false)
	if got := p.server.bare.Stats().MessagesReceived; got != 200 {
		t.Errorf("Stats.MessagesReceived: got %d, want 200: one that is not taken counts once", got)
	}
}

func checkPartsPause(t TB, s Suite) {
	p := connectParts(t, s)
	pause := func(e *end) {
		e.ep.PauseReceive()
		p.server.locked(func() { e.paused = true })
		if !p.server.b.Loop().Post(func() {
			p.server.locked(func() { e.paused = false })
			e.ep.ResumeReceive()
		}) {
			t.Errorf("Post: got false, want true")
		}
	}
	p.server.hook(hooks{parts: func(e *end, _, _ []byte) { pause(e) }, data: func(e *end, _ []byte) { pause(e) }})
	p.sendHeaded(t, 200, 20_000)
	p.accepted.waitReceived(t, 200)
	p.unhook(t)
	checkReceived(t, p.opened, p.accepted, false)
}

func checkPartsRetain(t TB, s Suite) {
	p := connectParts(t, s)
	k := p.retains(t)
	p.server.hook(hooks{
		data: func(e *end, data []byte) { k.take(e, data) },
		parts: func(e *end, head, data []byte) {
			if k.take(e, data) && !k.take(e, head) {
				t.Errorf("Retain of one message again: got %v, want it kept twice", netio.ErrNoResources)
			}
		},
	})
	p.sendHeaded(t, 100, 20_000)
	p.accepted.waitReceived(t, 100)
	p.unhook(t)
	k.check()
	k.release(0)
	p.opened.waitIdle(t)
	checkReceived(t, p.opened, p.accepted, false)
}

func checkPartsClose(t TB, s Suite) {
	p := connectParts(t, s)
	shut := func(e *end) {
		if e == p.accepted {
			e.closeHere(t)
		}
	}
	p.server.hook(hooks{parts: func(e *end, _, _ []byte) { shut(e) }, data: func(e *end, _ []byte) { shut(e) }})
	data := p.memory(t, 5000)
	w := p.opened.ways()[len(p.opened.ways())-1]
	if p.opened.capabilities.ZeroCopy {
		w = zeroCopy
	}
	for i := range 3 {
		if err := p.opened.send(w, netio.Key(i), []byte("head"), data); err != nil {
			break // the other side has closed
		}
	}
	p.accepted.waitClosed(t)
	p.opened.waitClosed(t)
	p.unhook(t)
	checkReceived(t, p.opened, p.accepted, true)
}
