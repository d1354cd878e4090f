// SPDX-License-Identifier: Apache-2.0

package netiotest

import (
	"bytes"
	"fmt"
	"slices"

	"tagbus/netio"
)

// sendChecks are about messages: order, bytes and whose memory is whose.
var sendChecks = []check{
	{"messages arrive in order and unchanged in every way of sending", checkMixed},
	{"a header of 0 to 16 bytes stands before the data", checkHeaders},
	{"a header alone is a message", checkHeaderOnly},
	{"header and list of pieces may be reused at once", checkHeaderReuse},
	{"memory of SendCopy may be reused at once", checkCopyReuse},
	{"memory of Send may be reused at its completion", checkCompletionReuse},
	{"memory of Send is only read", checkOnlyRead},
	{"a message of many pieces arrives whole", checkManyPieces},
	{"empty pieces are skipped", checkEmptyPieces},
	{"traffic flows in both directions at once", checkBidirectional},
	{"keys need not be unique", checkSameKeys},
	{"the statistics count messages and bytes", checkStats},
}

// both calls f for the two directions of the pair's connection.
func (p *pair) both(f func(from, to *end)) {
	f(p.opened, p.accepted)
	f(p.accepted, p.opened)
}

func checkMixed(t TB, s Suite) {
	p := connectPair(t, s, nil)
	mem := p.memory(t, p.s.bufferBytes)
	p.both(func(from, to *end) {
		ways := from.ways()
		n := Few(300, 100)
		for i := range n {
			w := ways[(i+i*i/5)%len(ways)]
			header := mem[i : i+i%(netio.MaxHeaderBytes+1)]
			size := 1 + (i*i*31)%3000
			split := size / 3
			from.sendAll(t, w, netio.Key(1000+i), header, mem[i:i+split], mem[i+split:i+size])
		}
		from.waitIdle(t)
		to.waitReceived(t, n)
		checkReceived(t, from, to, false)
	})
}

func checkHeaders(t TB, s Suite) {
	p := connectPair(t, s, nil)
	header, data := p.memory(t, netio.MaxHeaderBytes+1), p.memory(t, 40)
	for _, w := range p.opened.ways() {
		for n := range netio.MaxHeaderBytes + 1 {
			p.opened.sendAll(t, w, netio.Key(n), header[:n], data)
		}
		if w != buffered { // where the header is only data
			wantError(t, fmt.Sprintf("send %v with a header of 17 bytes", w), p.opened.send(w, 99, header, data), netio.ErrHeaderTooLarge)
		}
	}
	p.opened.waitIdle(t)
	p.accepted.waitReceived(t, len(p.opened.sent))
	checkReceived(t, p.opened, p.accepted, false)
}

func checkHeaderOnly(t TB, s Suite) {
	p := connectPair(t, s, nil)
	for _, w := range p.opened.ways() {
		p.opened.sendAll(t, w, 1, []byte("h"))
		p.opened.sendAll(t, w, 2, []byte("0123456789abcdef"))
	}
	p.opened.waitIdle(t)
	p.accepted.waitReceived(t, len(p.opened.sent))
	checkReceived(t, p.opened, p.accepted, false)
}

// choke pauses the receiver and sends until ErrNoResources, so that what is
// sent next is really kept by the backend. It returns when nothing moves.
func (p *pair) choke(t TB) {
	t.Helper()
	p.server.pause(t, p.accepted)
	w := p.opened.ways()[len(p.opened.ways())-1]
	data := p.memory(t, p.s.MessageBytes/2)
	if w == buffered {
		data = data[:p.s.bufferBytes]
	}
	p.fill(t, w, data)
}

// fill sends data to a receiver that is paused until nothing more is accepted
// and nothing moves.
func (p *pair) fill(t TB, w way, data []byte) {
	t.Helper()
	for range 2 { // what the first fence lets drain is filled up again
		for i := 0; p.opened.send(w, netio.Key(i), nil, data) == nil; i++ {
			if i > 4096 {
				t.Fatalf("%d messages of %d bytes to a receiver that is paused: got no error, want %v", i, len(data), netio.ErrNoResources)
			}
		}
		p.fence(t)
	}
}

func checkHeaderReuse(t TB, s Suite) {
	p := connectPair(t, s, nil)
	for _, w := range p.opened.ways() {
		if w == buffered {
			continue
		}
		header := make([]byte, netio.MaxHeaderBytes)
		pieces := make([][]byte, 3)
		for i := range 4 * suiteOutstanding {
			fill(header, byte(i))
			for j := range pieces {
				pieces[j] = p.memory(t, 100)
			}
			p.opened.sendAll(t, w, netio.Key(i), header, pieces...)
			fill(header, 0x55)
			clear(pieces)
		}
	}
	p.opened.waitIdle(t)
	p.accepted.waitReceived(t, len(p.opened.sent))
	checkReceived(t, p.opened, p.accepted, false)
}

func checkCopyReuse(t TB, s Suite) {
	p := connectPair(t, s, nil)
	p.has(t, immediate)
	p.server.pause(t, p.accepted)
	data := make([]byte, 256<<10)
	for i := 0; ; i++ {
		fill(data, byte(i))
		err := p.opened.send(immediate, netio.Key(i), nil, data)
		clear(data)
		if err != nil {
			wantError(t, "SendCopy to a receiver that is paused", err, netio.ErrNoResources)
			break
		}
	}
	p.server.resume(t, p.accepted)
	p.opened.waitIdle(t)
	p.accepted.waitReceived(t, len(p.opened.sent))
	checkReceived(t, p.opened, p.accepted, false)
}

func checkCompletionReuse(t TB, s Suite) {
	p := connectPair(t, s, nil)
	p.has(t, zeroCopy)
	// As many as may be outstanding: a backend that completes early is seen to
	// have read too late, not to be full.
	const slots, sends, rounds = 5, suiteOutstanding - 5, 8
	var mem [slots][]byte
	for i := range mem {
		mem[i] = p.memory(t, s.scaled(200<<10))
	}
	left := 0
	p.client.hook(hooks{completed: func(e *end, key netio.Key) {
		fill(mem[key], 0x55) // what is still to be read there is lost
		if left--; left >= 0 {
			fill(mem[key], byte(left))
			if err := e.send(zeroCopy, key, nil, mem[key]); err != nil {
				t.Errorf("Send inside a completion: got error %v, want none", err)
			}
		}
	}})
	for range rounds {
		p.client.onLoop(t, func() { left = sends })
		for i := range mem {
			p.opened.sendAll(t, zeroCopy, netio.Key(i), nil, mem[i])
		}
		p.opened.waitIdle(t)
		p.client.onLoop(t, func() {}) // until the last hook has ended
	}
	p.accepted.waitReceived(t, rounds*(slots+sends))
	p.unhook(t)
	checkReceived(t, p.opened, p.accepted, false)
}

func checkOnlyRead(t TB, s Suite) {
	p := connectPair(t, s, nil)
	p.has(t, zeroCopy)
	data := p.memory(t, s.scaled(300<<10))
	want := bytes.Clone(data)
	for i := range 50 {
		p.opened.sendAll(t, zeroCopy, netio.Key(i), []byte("header"), data[:len(data)/3], data[len(data)/3:])
	}
	p.opened.waitIdle(t)
	p.accepted.waitReceived(t, 50)
	checkReceived(t, p.opened, p.accepted, false)
	if !bytes.Equal(data, want) {
		t.Errorf("memory of Send after its completion: got changed bytes, want those that were sent")
	}
}

func checkManyPieces(t TB, s Suite) {
	p := connectPair(t, s, nil)
	n := 3000 // more than the IOV_MAX of 1,024 that one writev takes
	if s.MaxPieces > 0 {
		n = min(n, s.MaxPieces)
	}
	for _, w := range p.opened.ways() {
		if w == buffered {
			continue
		}
		var pieces [][]byte
		for i := range n {
			pieces = append(pieces, p.memory(t, 1+i%7))
		}
		p.opened.sendAll(t, w, 1, []byte("header"), pieces...)
		p.opened.sendAll(t, w, 2, nil, pieces[0])
	}
	p.opened.waitIdle(t)
	p.accepted.waitReceived(t, len(p.opened.sent))
	checkReceived(t, p.opened, p.accepted, false)
}

func checkEmptyPieces(t TB, s Suite) {
	p := connectPair(t, s, nil)
	a, b := p.memory(t, 9), p.memory(t, 5)
	for _, w := range p.opened.ways() {
		p.opened.sendAll(t, w, 1, nil, nil, a, []byte{}, nil, b, nil)
		p.opened.sendAll(t, w, 2, []byte("header"), nil, []byte{})
		p.opened.sendAll(t, w, 3, []byte{}, b)
	}
	p.opened.waitIdle(t)
	p.accepted.waitReceived(t, len(p.opened.sent))
	checkReceived(t, p.opened, p.accepted, false)
}

func checkBidirectional(t TB, s Suite) {
	p := connectPair(t, s, nil)
	mem := p.memory(t, p.s.bufferBytes)
	for i := range 100 {
		p.both(func(from, _ *end) {
			ways := from.ways()
			from.sendAll(t, ways[i%len(ways)], netio.Key(i), nil, mem[i:i+1+(i*37)%1000])
		})
	}
	p.both(func(from, to *end) {
		from.waitIdle(t)
		to.waitReceived(t, 100)
		checkReceived(t, from, to, false)
	})
}

func checkSameKeys(t TB, s Suite) {
	p := connectPair(t, s, nil)
	for _, w := range p.opened.ways() {
		if w == buffered {
			continue
		}
		for _, key := range []netio.Key{7, 7, 0, ^netio.Key(0), 7} {
			p.opened.sendAll(t, w, key, nil, p.memory(t, 10))
		}
	}
	p.opened.waitIdle(t) // and the end of the test compares key by key
}

func checkStats(t TB, s Suite) {
	p := connectPair(t, s, nil)
	for i := range 20 {
		p.opened.sendAll(t, p.opened.ways()[0], netio.Key(i), []byte("head"), p.memory(t, 100+i))
	}
	p.opened.waitIdle(t)
	p.accepted.waitReceived(t, 20)
	size := uint64(len(slices.Concat(p.opened.sent...)))
	sent, received := p.client.b.Stats(), p.server.b.Stats()
	if sent.MessagesSent != 20 || sent.BytesSent != size || sent.MessagesReceived != 0 {
		t.Errorf("Stats of the sender: got %+v, want 20 messages and %d bytes sent", sent, size)
	}
	if received.MessagesReceived != 20 || received.BytesReceived != size || received.MessagesSent != 0 {
		t.Errorf("Stats of the receiver: got %+v, want 20 messages and %d bytes received", received, size)
	}
	if err := p.opened.ep.Close(); err != nil {
		t.Errorf("Close: got error %v, want none", err)
	}
	p.opened.waitClosed(t)
	p.accepted.waitClosed(t)
	if sent, received := p.client.b.Stats().Closed, p.server.b.Stats().Closed; sent != 1 || received != 1 {
		t.Errorf("Stats.Closed: got %d and %d, want 1 and 1", sent, received)
	}
}
