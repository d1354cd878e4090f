// SPDX-License-Identifier: Apache-2.0

package netiotest

import (
	"errors"
	"io"
	"sync/atomic"

	"tagbus/netio"
)

// closeChecks are about the end of an endpoint.
var closeChecks = []check{
	{"a close reports the outstanding keys in order", checkCloseKeys},
	{"the peer of a closed endpoint sees io.EOF", checkEOF},
	{"both ends may close at once", checkBothClose},
	{"the second close returns ErrClosed", checkDoubleClose},
	{"the methods of a closed endpoint return ErrClosed", checkClosedMethods},
	{"a close on the loop is the last but one that its endpoint hears", checkCloseOnLoop},
	{"an endpoint may be closed inside OnConnectionEstablished", checkCloseInEstablished},
	{"an endpoint may be closed inside OnData", checkCloseInData},
	{"an endpoint may be closed inside OnSendCompleted", checkCloseInCompleted},
	{"an endpoint may be closed inside OnSendReady", checkCloseInReady},
	{"a close inside OnConnectionClosed returns ErrClosed", checkCloseInClosed},
	{"a paused endpoint can be closed", checkClosePaused},
	{"a buffer may outlive its endpoint", checkBufferOutlives},
}

// close closes e and waits for the end on both sides.
func (p *pair) close(t TB, e *end) {
	t.Helper()
	if err := e.ep.Close(); err != nil {
		t.Errorf("%s: Close: got error %v, want none", e.r.name, err)
	}
	p.opened.waitClosed(t)
	p.accepted.waitClosed(t)
}

func checkCloseKeys(t TB, s Suite) {
	p := connectPair(t, s, nil)
	p.choke(t)
	if err := p.opened.ep.Close(); err != nil {
		t.Errorf("Close: got error %v, want none", err)
	}
	p.opened.waitClosed(t)
	p.server.resume(t, p.accepted) // a paused end need not see the end behind unread bytes
	// In order, in the middle of a message or with a reset: the contract
	// leaves it open what becomes of bytes that were not sent.
	var op *netio.OpError
	if cause := p.accepted.waitCause(t); !errors.Is(cause, io.EOF) && !errors.As(cause, &op) {
		t.Errorf("cause after the peer has closed with sends outstanding: got %v, want %v or an *OpError", cause, io.EOF)
	}
	if p.opened.cause != nil {
		t.Errorf("cause after a local Close: got %v, want nil", p.opened.cause)
	}
	p.client.locked(func() {
		if len(p.opened.cancelled) == 0 {
			t.Errorf("keys of OnConnectionClosed of a full connection: got none, want those outstanding")
		}
	}) // the end of the test compares them with what was accepted
	checkReceived(t, p.opened, p.accepted, true)
}

func checkEOF(t TB, s Suite) {
	for _, swap := range []bool{false, true} {
		p := connectPair(t, s, nil)
		closer, other := p.opened, p.accepted
		if swap {
			closer, other = other, closer
		}
		for i := range 10 {
			closer.sendAll(t, closer.ways()[0], netio.Key(i), nil, p.memory(t, 10))
		}
		closer.waitIdle(t)
		other.waitReceived(t, 10)
		p.close(t, closer)
		if closer.cause != nil {
			t.Errorf("%s: cause after a local Close: got %v, want nil", closer.r.name, closer.cause)
		}
		wantError(t, other.r.name+": cause after the peer has closed", other.cause, io.EOF)
		checkReceived(t, closer, other, false)
	}
}

func checkBothClose(t TB, s Suite) {
	p := connectPair(t, s, nil)
	if err := p.opened.ep.Close(); err != nil {
		t.Errorf("Close: got error %v, want none", err)
	}
	// The peer's end may have arrived, and OnConnectionClosed be about to come.
	if err := p.accepted.ep.Close(); err != nil {
		wantError(t, "Close at the same time as the peer", err, netio.ErrClosed)
	}
	p.opened.waitClosed(t)
	p.accepted.waitClosed(t)
}

func checkDoubleClose(t TB, s Suite) {
	p := connectPair(t, s, nil)
	if err := p.opened.ep.Close(); err != nil {
		t.Errorf("first Close: got error %v, want none", err)
	}
	wantError(t, "second Close", p.opened.ep.Close(), netio.ErrClosed)
	p.opened.waitClosed(t)
	wantError(t, "Close after OnConnectionClosed", p.opened.ep.Close(), netio.ErrClosed)
	p.accepted.waitClosed(t)
	wantError(t, "Close of an endpoint that the peer has closed", p.accepted.ep.Close(), netio.ErrClosed)
	p.fence(t)
}

// checkAllClosed calls every method of an endpoint that is closed.
func (p *pair) checkAllClosed(t TB, when string, e *end, taken *netio.Buffer) {
	t.Helper()
	data := e.r.word
	if e.capabilities.Buffered {
		_, err := e.ep.Buffer()
		wantError(t, "Buffer "+when, err, netio.ErrClosed)
		wantError(t, "SendBuffer "+when, e.sendBuffer(taken), netio.ErrClosed)
	}
	if e.capabilities.ZeroCopy {
		wantError(t, "Send "+when, e.send(zeroCopy, 1, nil, data), netio.ErrClosed)
	}
	if e.capabilities.Immediate {
		wantError(t, "SendCopy "+when, e.send(immediate, 1, nil, data), netio.ErrClosed)
	}
	if e.capabilities.Direct {
		wantError(t, "SendDirect "+when, e.send(direct, 1, nil, data), netio.ErrClosed)
	}
	wantError(t, "Close "+when, e.ep.Close(), netio.ErrClosed)
	e.ep.PauseReceive()
	e.ep.ResumeReceive()
	if e.ep.Remote().Port() == 0 || e.ep.Local().Port() == 0 || e.ep.Capabilities() != e.capabilities {
		t.Errorf("addresses and capabilities %s: got %v, %v, %+v, want those of before", when, e.ep.Local(), e.ep.Remote(), e.ep.Capabilities())
	}
}

func checkClosedMethods(t TB, s Suite) {
	p := connectPair(t, s, nil)
	var taken [2]*netio.Buffer
	for i, e := range []*end{p.opened, p.accepted} {
		if e.capabilities.Buffered {
			taken[i] = p.client.buffer(t, e)
			if _, err := taken[i].Write([]byte("mine")); err != nil {
				t.Fatalf("Write: got error %v, want none", err)
			}
		}
	}
	if err := p.opened.ep.Close(); err != nil {
		t.Errorf("Close: got error %v, want none", err)
	}
	p.checkAllClosed(t, "after Close", p.opened, taken[0])
	p.opened.waitClosed(t)
	p.checkAllClosed(t, "after OnConnectionClosed", p.opened, taken[0])
	p.accepted.waitClosed(t)
	p.checkAllClosed(t, "after the peer has closed", p.accepted, taken[1])
	for i, e := range []*end{p.opened, p.accepted} {
		if taken[i] != nil {
			e.r.release(taken[i])
		}
	}
}

// closeHere closes e on the loop; only OnConnectionClosed may follow.
func (e *end) closeHere(t TB) {
	if err := e.ep.Close(); err != nil {
		t.Errorf("Close on the loop: got error %v, want none", err)
	}
	e.r.locked(func() {
		e.closing = true
		if e.closed {
			e.r.problem("OnConnectionClosed came inside Close")
		}
	})
}

func checkCloseOnLoop(t TB, s Suite) {
	p := connectPair(t, s, nil)
	p.sendSmall(t, 100)
	p.server.onLoop(t, func() { p.accepted.closeHere(t) })
	p.accepted.waitClosed(t)
	p.opened.waitClosed(t)
	p.fence(t)
}

func checkCloseInEstablished(t TB, s Suite) {
	p := openPair(t, s)
	p.server.hook(hooks{established: func(e *end) { e.closeHere(t) }})
	p.client.hook(hooks{established: func(e *end) { e.answer(t) }})
	p.client.dial(t, p.server.listen(t, s, p.params()).Addr(), p.params())
	p.server.established(t, 0).waitClosed(t)
	p.client.established(t, 0).waitClosed(t)
	p.server.hook(hooks{})
	p.client.hook(hooks{})
	p.fence(t)
}

func checkCloseInData(t TB, s Suite) {
	p := connectPair(t, s, nil)
	p.server.hook(hooks{data: func(e *end, _ []byte) {
		if e == p.accepted && len(e.received) == 2 {
			e.closeHere(t)
		}
	}})
	for range 50 { // the connection may end at any of them
		if p.opened.send(p.opened.ways()[0], 1, nil, p.opened.r.word) != nil {
			break
		}
	}
	p.accepted.waitClosed(t)
	p.opened.waitClosed(t)
	p.server.hook(hooks{})
	p.fence(t)
	if len(p.accepted.received) != 2 {
		t.Errorf("messages with a Close inside the second OnData: got %d, want 2", len(p.accepted.received))
	}
}

func checkCloseInCompleted(t TB, s Suite) {
	p := connectPair(t, s, nil)
	p.client.hook(hooks{completed: func(e *end, _ netio.Key) {
		if e == p.opened && len(e.completed) == 2 {
			e.closeHere(t)
		}
	}})
	for range suiteOutstanding {
		if p.opened.send(p.opened.ways()[0], 1, nil, p.opened.r.word) != nil {
			break
		}
	}
	p.opened.waitClosed(t)
	p.accepted.waitClosed(t)
	p.client.hook(hooks{})
	p.fence(t)
}

func checkCloseInReady(t TB, s Suite) {
	p := connectPair(t, s, nil)
	p.choke(t)
	p.client.hook(hooks{ready: func(e *end) { e.closeHere(t) }})
	// What had drained before the hook is filled up again: without a refusal
	// after it there need not be an OnSendReady.
	e := p.opened
	for i := 0; e.send(e.ways()[len(e.ways())-1], netio.Key(i), nil, p.client.word) == nil; i++ {
		continue
	}
	p.server.resume(t, p.accepted)
	p.opened.waitClosed(t)
	p.accepted.waitClosed(t)
	p.client.hook(hooks{})
	p.fence(t)
	checkReceived(t, p.opened, p.accepted, true)
}

func checkCloseInClosed(t TB, s Suite) {
	p := connectPair(t, s, nil)
	var calls atomic.Int32
	h := hooks{closed: func(e *end) {
		calls.Add(1)
		wantError(t, "Close inside OnConnectionClosed", e.ep.Close(), netio.ErrClosed)
		wantError(t, "send inside OnConnectionClosed", e.send(e.ways()[len(e.ways())-1], 1, nil, e.r.word), netio.ErrClosed)
	}}
	p.client.hook(h)
	p.server.hook(h)
	p.close(t, p.opened)
	p.client.onLoop(t, func() {})
	p.server.onLoop(t, func() {})
	if got := calls.Load(); got != 2 {
		t.Errorf("OnConnectionClosed: got %d calls, want 2", got)
	}
}

func checkClosePaused(t TB, s Suite) {
	p := connectPair(t, s, nil)
	p.choke(t)
	p.close(t, p.accepted)
	if p.accepted.cause != nil {
		t.Errorf("cause after a local Close: got %v, want nil", p.accepted.cause)
	}
	if p.opened.cause == nil {
		t.Errorf("cause after the peer has closed: got nil, want an error")
	}
}

func checkBufferOutlives(t TB, s Suite) {
	p := connectPair(t, s, nil)
	p.has(t, buffered)
	b := p.client.buffer(t, p.opened)
	p.close(t, p.opened)
	p.fence(t)
	if _, err := b.Write(make([]byte, s.bufferBytes)); err != nil {
		t.Errorf("Write to a buffer of a closed endpoint: got error %v, want none", err)
	}
	p.client.release(b)
}
