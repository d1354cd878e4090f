// SPDX-License-Identifier: Apache-2.0

package netiotest

import (
	"errors"
	"io"
	"slices"

	"tagbus/netio"
)

// receiveChecks are about PauseReceive and the data of OnData.
var receiveChecks = []check{
	{"after a pause inside OnData not one more message comes", checkPauseInside},
	{"pausing and resuming in every OnData loses nothing", checkPauseOften},
	{"pause and resume are idempotent", checkPauseTwice},
	{"a pause elsewhere takes effect within a turn", checkPauseElsewhere},
	{"a pause does not stop sending", checkPausedSends},
	{"a pause holds the sender back", checkPauseHoldsBack},
	{"a pause holds back the end in order, behind what has come", checkPauseHoldsEnd},
	{"data is unchanged until OnData returns", checkDataStable},
}

// sendSmall sends n small messages from the client.
func (p *pair) sendSmall(t TB, n int) {
	t.Helper()
	data := p.memory(t, 64)
	for i := range n {
		p.opened.sendAll(t, p.opened.ways()[0], netio.Key(i), nil, data[:1+i%64])
	}
}

// sendWhatFits sends up to n small messages from the client, as many as the
// transport holds for a receiver that does not read.
func (p *pair) sendWhatFits(t TB, n int) {
	t.Helper()
	for i := range n {
		w := p.opened.ways()[len(p.opened.ways())-1]
		if err := p.opened.send(w, netio.Key(i), nil, p.client.word); err != nil {
			wantError(t, "send to a receiver that is paused", err, netio.ErrNoResources)
			return
		}
	}
}

func checkPauseInside(t TB, s Suite) {
	p := connectPair(t, s, nil)
	p.server.hook(hooks{data: func(e *end, _ []byte) {
		if e == p.accepted && len(e.received) == 3 {
			e.ep.PauseReceive()
			p.server.locked(func() { e.paused = true })
		}
	}})
	p.server.pause(t, p.accepted)
	p.sendWhatFits(t, 50)
	p.fence(t)
	p.server.resume(t, p.accepted) // and now they come in one burst
	p.accepted.waitReceived(t, 3)
	p.fence(t)
	p.server.locked(func() {
		if got := len(p.accepted.received); got != 3 {
			t.Errorf("messages after a pause inside the third OnData: got %d, want 3", got)
		}
	})
	p.server.resume(t, p.accepted)
	p.sendSmall(t, 50)
	p.accepted.waitReceived(t, len(p.opened.sent))
	checkReceived(t, p.opened, p.accepted, false)
}

func checkPauseOften(t TB, s Suite) {
	p := connectPair(t, s, nil)
	p.server.hook(hooks{data: func(e *end, _ []byte) {
		e.ep.PauseReceive()
		p.server.locked(func() { e.paused = true })
		if !p.server.b.Loop().Post(func() {
			p.server.locked(func() { e.paused = false })
			e.ep.ResumeReceive()
		}) {
			t.Errorf("Post: got false, want true")
		}
	}})
	p.sendSmall(t, 200)
	p.accepted.waitReceived(t, 200)
	p.unhook(t)
	checkReceived(t, p.opened, p.accepted, false)
}

func checkPauseTwice(t TB, s Suite) {
	p := connectPair(t, s, nil)
	p.server.onLoop(t, func() {
		p.accepted.ep.ResumeReceive() // of one that is not paused
		for range 3 {
			p.accepted.ep.PauseReceive()
		}
		p.accepted.ep.ResumeReceive()
	})
	p.sendSmall(t, 20)
	p.accepted.waitReceived(t, 20)
	p.server.resume(t, p.accepted)
	checkReceived(t, p.opened, p.accepted, false)
}

func checkPauseElsewhere(t TB, s Suite) {
	p := connectPair(t, s, nil)
	p.accepted.ep.PauseReceive()
	p.server.onLoop(t, func() { p.server.locked(func() { p.accepted.paused = true }) })
	p.sendWhatFits(t, 20)
	p.fence(t)
	p.server.locked(func() { p.accepted.paused = false })
	p.accepted.ep.ResumeReceive()
	p.accepted.waitReceived(t, len(p.opened.sent))
	checkReceived(t, p.opened, p.accepted, false)
}

func checkPausedSends(t TB, s Suite) {
	p := connectPair(t, s, nil)
	p.server.pause(t, p.accepted)
	data := p.memory(t, 2000)
	for i := range 200 {
		p.accepted.sendAll(t, p.accepted.ways()[0], netio.Key(i), nil, data)
	}
	p.opened.waitReceived(t, 200)
	p.accepted.waitIdle(t)
	checkReceived(t, p.accepted, p.opened, false)
}

func checkPauseHoldsBack(t TB, s Suite) {
	p := connectPair(t, s, nil)
	p.choke(t) // fails unless the sender comes to a stop
	p.server.resume(t, p.accepted)
	p.opened.waitIdle(t)
	p.accepted.waitReceived(t, len(p.opened.sent))
	checkReceived(t, p.opened, p.accepted, false)
}

func checkPauseHoldsEnd(t TB, s Suite) {
	p := connectPair(t, s, nil)
	p.server.pause(t, p.accepted)
	p.sendWhatFits(t, 1)
	p.opened.waitIdle(t)
	p.fence(t)
	if err := p.opened.ep.Close(); err != nil {
		t.Errorf("Close: got error %v, want none", err)
	}
	p.opened.waitClosed(t)
	p.fence(t)
	p.server.locked(func() {
		if p.accepted.closed {
			t.Errorf("end of the peer during a pause: got cause %v, want none before the message", p.accepted.cause)
		}
	})
	p.server.resume(t, p.accepted)
	if cause := p.accepted.waitCause(t); !errors.Is(cause, io.EOF) {
		t.Errorf("cause after a pause: got %v, want %v", cause, io.EOF)
	}
	checkReceived(t, p.opened, p.accepted, false)
}

// answer sends one message inside a callback and reports whether it was accepted.
// It may find no room.
func (e *end) answer(t TB) bool {
	err := e.send(e.ways()[len(e.received)%len(e.ways())], 1, nil, e.r.word)
	if err != nil && !errors.Is(err, netio.ErrNoResources) {
		t.Errorf("%s: send inside a callback: got error %v, want none or %v", e.r.name, err, netio.ErrNoResources)
	}
	return err == nil
}

func checkDataStable(t TB, s Suite) {
	p := connectPair(t, s, nil)
	p.server.hook(hooks{data: func(e *end, data []byte) {
		// While the callback runs its endpoint is asked for more: sends, and
		// whatever else might make a backend reuse its memory.
		e.answer(t)
		e.ep.PauseReceive()
		e.ep.ResumeReceive()
		if want := e.received[len(e.received)-1]; !slices.Equal(data, want) {
			t.Errorf("data at the end of OnData: got %s, want %s as at its beginning", shortBytes(data), shortBytes(want))
		}
	}})
	data := p.memory(t, s.scaled(100<<10))
	for i := range 100 {
		w := p.opened.ways()[len(p.opened.ways())-1]
		n := len(data)
		if w == buffered {
			n = s.bufferBytes
		}
		p.opened.sendAll(t, w, netio.Key(i), nil, data[:1+i*997%n])
	}
	p.accepted.waitReceived(t, 100)
	p.unhook(t)
	checkReceived(t, p.opened, p.accepted, false)
}
