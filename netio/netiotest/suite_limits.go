// SPDX-License-Identifier: Apache-2.0

package netiotest

import (
	"errors"
	"fmt"

	"tagbus/netio"
)

// limitChecks are about the size of messages.
var limitChecks = []check{
	{"an empty message is refused", checkEmpty},
	{"a message of exactly the limit arrives", checkLargest},
	{"a message over the limit is refused here or closes the connection there", checkOverLimit},
	{"a message that nobody could receive is refused", checkImpossible},
	{"memory outside the region is sent or refused", checkOutsideRegion},
	{"the first message has a limit of its own", checkFirstLimit},
	{"after the first message the usual limit holds", checkFirstThenLarge},
}

func checkEmpty(t TB, s Suite) {
	p := connectPair(t, s, nil)
	e := p.opened
	for _, w := range e.ways() {
		if w == buffered {
			continue
		}
		for _, data := range [][][]byte{nil, {nil}, {{}, {}}} {
			wantError(t, fmt.Sprintf("send %v of no bytes in %d pieces", w, len(data)), e.send(w, 1, nil, data...), netio.ErrEmptyMessage)
		}
	}
	if s.Capabilities.Buffered {
		b := p.client.buffer(t, e)
		wantError(t, "SendBuffer of an empty buffer", e.sendBuffer(b), netio.ErrEmptyMessage)
		if _, err := b.Write([]byte("still mine")); err != nil {
			t.Errorf("Write to the buffer whose send was refused: got error %v, want none", err)
		}
		if err := e.sendBuffer(b); err != nil {
			t.Errorf("SendBuffer of the buffer whose first send was refused: got error %v, want none", err)
		}
	}
	p.opened.sendAll(t, p.opened.ways()[0], 2, nil, e.r.word)
	p.opened.waitIdle(t)
	p.accepted.waitReceived(t, len(p.opened.sent))
	checkReceived(t, p.opened, p.accepted, false)
}

// buffer takes a buffer of e, which has one.
func (x *side) buffer(t TB, e *end) *netio.Buffer {
	t.Helper()
	b, err := e.ep.Buffer()
	if err != nil {
		t.Fatalf("%s: Buffer: got error %v, want none", x.name, err)
	}
	return b
}

// sendBuffer is SendBuffer with the books of send.
func (e *end) sendBuffer(b *netio.Buffer) (err error) {
	var data []byte
	if b != nil {
		data = append(data, b.Bytes()...)
	}
	e.r.call(func() {
		switch err = e.ep.SendBuffer(b); {
		case err == nil:
			e.accepted = append(e.accepted, b.Key())
			e.sent = append(e.sent, data)
		case errors.Is(err, netio.ErrNoResources):
			e.refusals++
		}
	})
	return err
}

// connectLimited opens a pair whose server has a limit, with send buffers that
// have room to break it.
func connectLimited(t TB, s Suite, limit, bufferBytes int) *pair {
	t.Helper()
	return connectPair(t, s.sendBuffers(s.buffers, bufferBytes), func(server, _ *netio.Params) {
		server.Receive.MaxMessageBytes = limit
	})
}

func checkLargest(t TB, s Suite) {
	for _, limit := range []int{1, 2, 4096, 70_000} {
		p := connectLimited(t, s, limit, limit+netio.MaxHeaderBytes)
		data := p.memory(t, limit)
		for _, w := range p.opened.ways() {
			p.opened.sendAll(t, w, 1, nil, data)
			h := min(limit, 8) // the header counts
			p.opened.sendAll(t, w, 2, data[:h], data[h:])
		}
		p.opened.waitIdle(t)
		p.accepted.waitReceived(t, len(p.opened.sent))
		checkReceived(t, p.opened, p.accepted, false)
	}
}

func checkOverLimit(t TB, s Suite) {
	const limit = 5000
	for _, w := range []way{buffered, zeroCopy, immediate, direct} {
		for _, over := range []int{1, 7 * limit} {
			p := connectLimited(t, s, limit, 10*limit)
			if ways := p.opened.ways(); int(w) >= len(ways) {
				continue
			} else {
				p.checkOver(t, ways[w], limit, over)
			}
		}
	}
}

// checkOver sends a message of the limit and one that is over bytes larger.
func (p *pair) checkOver(t TB, w way, limit, over int) {
	t.Helper()
	data := p.memory(t, limit+over)
	p.opened.sendAll(t, w, 1, nil, data[:limit])
	err := p.opened.send(w, 2, nil, data)
	switch {
	case errors.Is(err, netio.ErrTooLarge): // this backend knows the other's limit
		p.opened.sendAll(t, w, 3, nil, data[:limit])
		p.opened.waitIdle(t)
		p.accepted.waitReceived(t, 2)
	case err != nil:
		t.Errorf("send %v of %d bytes over the limit: got error %v, want none or %v", w, over, err, netio.ErrTooLarge)
	default:
		opError(t, "cause of OnConnectionClosed at the receiver", p.accepted.waitCause(t), p.accepted.ep.Remote(), netio.ErrMessageLength)
		p.opened.waitClosed(t)
		p.server.locked(func() {
			if len(p.accepted.received) != 1 {
				t.Errorf("got %d messages, want only the one within the limit", len(p.accepted.received))
			}
		})
		if got := p.server.b.Stats().BadMessages; got != 1 {
			t.Errorf("Stats.BadMessages: got %d, want 1", got)
		}
	}
	checkReceived(t, p.opened, p.accepted, true)
}

func checkImpossible(t TB, s Suite) {
	p := connectPair(t, s, nil)
	// The same memory again and again. A backend that does not take so many pieces
	// looks at the size first all the same.
	pieces := make([][]byte, 1+int((1<<31)/int64(len(p.region))))
	for i := range pieces {
		pieces[i] = p.region
	}
	for _, w := range p.opened.ways() {
		if w != buffered {
			wantError(t, fmt.Sprintf("send %v of more than 2^31-1 bytes", w), p.opened.send(w, 1, nil, pieces...), netio.ErrTooLarge)
		}
	}
	p.opened.sendAll(t, p.opened.ways()[0], 2, nil, p.region[:1])
	p.accepted.waitReceived(t, 1)
}

func checkOutsideRegion(t TB, s Suite) {
	if !s.Capabilities.ZeroCopy {
		t.Skipf("the backend does not send without copying")
	}
	p := connectPair(t, s, nil)
	elsewhere := []byte("memory of the heap")
	if s.Capabilities.AnyMemory {
		p.opened.sendAll(t, zeroCopy, 1, nil, elsewhere)
	} else {
		wantError(t, "Send from the heap", p.opened.send(zeroCopy, 1, nil, elsewhere), netio.ErrOutsideRegion)
		wantError(t, "Send of a piece from the heap", p.opened.send(zeroCopy, 1, nil, p.region[:1], elsewhere), netio.ErrOutsideRegion)
		p.opened.sendAll(t, zeroCopy, 1, nil, p.region[:1])
	}
	p.opened.waitIdle(t)
	p.accepted.waitReceived(t, 1)
	checkReceived(t, p.opened, p.accepted, false)
}

func checkFirstLimit(t TB, s Suite) {
	p := connectPair(t, s, func(server, _ *netio.Params) { server.Receive.FirstMessageBytes = 100 })
	w := p.opened.ways()[0]
	err := p.opened.send(w, 1, nil, p.memory(t, 101))
	if errors.Is(err, netio.ErrTooLarge) {
		return
	}
	wantError(t, "send of a first message over its limit", err, nil)
	opError(t, "cause of OnConnectionClosed at the receiver", p.accepted.waitCause(t), p.accepted.ep.Remote(), netio.ErrMessageLength)
	p.opened.waitClosed(t)
	p.server.locked(func() {
		if len(p.accepted.received) != 0 {
			t.Errorf("got %d messages, want none", len(p.accepted.received))
		}
	})
}

func checkFirstThenLarge(t TB, s Suite) {
	p := connectPair(t, s, func(server, client *netio.Params) {
		server.Receive.FirstMessageBytes = 100
		client.Receive.FirstMessageBytes = 10
	})
	p.both(func(from, to *end) {
		w := from.ways()[0]
		from.sendAll(t, w, 1, nil, p.memory(t, 10))
		from.sendAll(t, w, 2, nil, p.memory(t, 3000))
		from.waitIdle(t)
		to.waitReceived(t, 2)
		checkReceived(t, from, to, false)
	})
}
