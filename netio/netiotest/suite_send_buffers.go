// SPDX-License-Identifier: Apache-2.0

package netiotest

import (
	"errors"
	"fmt"
	"io"
	"slices"

	"tagbus/netio"
)

// sendBufferChecks are about send buffers and Room.
var sendBufferChecks = []check{
	{"integers and vectors arrive as they were written", checkIntegers},
	{"a released buffer is answered by OnSendReady", checkReleaseReady},
	{"Room tells what is free and the fewest since the last call", checkRoom},
}

// sharingSend returns s with send buffers that all endpoints of a backend share.
// It skips the test if there are no send buffers.
func (s Suite) sharingSend(t TB, buffers, bufferBytes int) Suite {
	t.Helper()
	if !s.Capabilities.Buffered {
		t.Skipf("the backend does not send %s", buffered)
	}
	s.Config.SharedSend = netio.SharedBuffers{Buffers: buffers, BufferBytes: bufferBytes}
	s.buffers, s.bufferBytes = buffers, bufferBytes
	return s
}

func checkIntegers(t TB, s Suite) {
	p := connectPair(t, s, nil)
	p.has(t, buffered)
	b := p.client.buffer(t, p.opened)
	_, vector := b.WriteVector([]byte("ab"), nil, []byte("c"))
	err := errors.Join(
		b.WriteUint8(0x01),
		b.WriteUint16(0x0203),
		b.WriteUint32(0x04050607),
		b.WriteUint64(0x08090a0b0c0d0e0f),
	)
	_, bytes := b.Write([]byte("end"))
	if err := errors.Join(vector, err, bytes, p.opened.sendBuffer(b)); err != nil {
		t.Errorf("write to a buffer and send it: got error %v, want none", err)
	}
	p.accepted.waitReceived(t, 1)
	want := "abc\x01\x03\x02\x07\x06\x05\x04\x0f\x0e\x0d\x0c\x0b\x0a\x09\x08end" // little-endian
	p.server.locked(func() {
		if got := string(p.accepted.received[0]); got != want {
			t.Errorf("message of integers and a vector: got %x, want %x", got, want)
		}
	})

	b = p.client.buffer(t, p.opened)
	fill(b.Extend(b.Available()-1), 1)
	_, vector = b.WriteVector([]byte("a"), []byte("b"))
	_, bytes = b.Write([]byte("ab"))
	for i, err := range []error{vector, bytes, b.WriteUint16(1), b.WriteUint32(1), b.WriteUint64(1)} {
		wantError(t, fmt.Sprintf("write %d of more than the last byte of a buffer", i), err, io.ErrShortBuffer)
	}
	if err := errors.Join(b.WriteUint8(7), p.opened.sendBuffer(b)); err != nil {
		t.Errorf("write the last byte of a buffer and send it: got error %v, want none", err)
	}
	p.opened.waitIdle(t)
	p.accepted.waitReceived(t, 2)
	checkReceived(t, p.opened, p.accepted, false)
}

// refuse asks e for a buffer when there is none.
func (e *end) refuse(t TB) {
	e.r.call(func() {
		b, err := e.ep.Buffer()
		wantError(t, e.r.name+": Buffer with all buffers taken", err, netio.ErrNoResources)
		if err == nil {
			e.r.release(b)
			return
		}
		e.refusals++
	})
}

// waitReady waits until every refusal of e is answered.
func (e *end) waitReady(t TB) {
	t.Helper()
	e.r.wait(t, "one OnSendReady for each ErrNoResources", func() bool { return e.ready == e.refusals })
}

func checkReleaseReady(t TB, s Suite) {
	own := s
	own.Config.SharedSend = netio.SharedBuffers{}
	suites := []Suite{own}
	if !s.NoSharing {
		suites = append(suites, s.sharingSend(t, s.buffers, s.bufferBytes))
	}
	for _, s := range suites {
		p := connectPair(t, s, nil)
		e := p.opened
		all := p.client.takeAll(t, e, s.buffers)
		e.refuse(t)
		e.refuse(t)
		for _, b := range all { // nothing is sent: only this brings them back
			p.client.release(b)
		}
		e.waitReady(t)
		all = p.client.takeAll(t, e, s.buffers)
		p.client.onLoop(t, func() {
			for _, b := range all {
				p.client.release(b)
			}
		})
		e.waitReady(t)
		e.sendAll(t, buffered, 1, nil, p.client.word)
		p.fence(t) // the recorder notices one OnSendReady too many
	}
}

// connectTwo opens a pair with a second connection between the same backends.
func connectTwo(t TB, s Suite) (p *pair, opened, accepted [2]*end) {
	t.Helper()
	p = connectPair(t, s, nil)
	c, a := p.connect(t, p.client, p.server.listen(t, s, p.params()), p.params())
	return p, [2]*end{p.opened, c}, [2]*end{p.accepted, a}
}

func checkSharedSend(t TB, s Suite) {
	const buffers = 4
	s = s.sharingSend(t, buffers, s.bufferBytes)
	p, opened, accepted := connectTwo(t, s)
	var all []*netio.Buffer
	var keys []netio.Key
	for i := range buffers {
		e := opened[i%2]
		if !e.capabilities.Buffered {
			t.Fatalf("Capabilities with shared send buffers: got %+v, want Buffered", e.capabilities)
		}
		b := p.client.buffer(t, e)
		all, keys = append(all, b), append(keys, b.Key())
	}
	if slices.Sort(keys); !slices.Equal(keys, []netio.Key{0, 1, 2, 3}) {
		t.Errorf("keys of all shared buffers: got %v, want 0 to 3", keys)
	}
	for _, e := range opened {
		e.refuse(t)
		if got := e.ep.Room().Buffers; got != 0 {
			t.Errorf("Room with all shared buffers taken: got %d buffers, want 0", got)
		}
	}
	for _, b := range all {
		p.client.release(b)
	}
	for i, e := range opened {
		e.waitReady(t)
		for n := range 50 {
			e.sendAll(t, buffered, 0, nil, p.client.word[:1+n%10])
		}
		e.waitIdle(t)
		accepted[i].waitReceived(t, 50)
		checkReceived(t, e, accepted[i], false)
	}
	// Those of an endpoint that has ended are there for the others.
	kept := p.client.buffer(t, opened[0])
	p.close(t, opened[0])
	rest := p.client.takeAll(t, opened[1], buffers-1)
	p.client.release(kept)
	opened[1].waitReady(t)
	rest = append(rest, p.client.buffer(t, opened[1]))
	for _, b := range rest {
		p.client.release(b)
	}
}

func checkOtherEndpoint(t TB, s Suite) {
	p, opened, accepted := connectTwo(t, s.sharingSend(t, s.buffers, s.bufferBytes))
	take := func(x *side, e *end) *netio.Buffer {
		b := x.buffer(t, e)
		if _, err := b.Write(x.word); err != nil {
			t.Fatalf("Write: got error %v, want none", err)
		}
		return b
	}
	send := func(what string, b *netio.Buffer) {
		if err := opened[1].sendBuffer(b); err != nil {
			t.Errorf("SendBuffer of a buffer from %s: got error %v, want none", what, err)
			p.client.release(b)
		}
	}
	for range 3 * s.buffers { // more than there are: each comes back
		send("another endpoint", take(p.client, opened[0]))
		opened[1].waitIdle(t)
	}
	outlives := take(p.client, opened[0])
	p.close(t, opened[0])
	send("an endpoint that has ended", outlives)
	opened[1].waitIdle(t)
	foreign := take(p.server, accepted[1])
	wantError(t, "SendBuffer of a buffer of another backend", opened[1].sendBuffer(foreign), netio.ErrForeignBuffer)
	p.server.release(foreign)
	accepted[1].waitReceived(t, len(opened[1].sent))
	checkReceived(t, opened[1], accepted[1], false)
	if got := len(accepted[0].received); got != 0 {
		t.Errorf("messages at the endpoint that the buffers were taken from: got %d, want 0", got)
	}
}

func checkSharedRefused(t TB, s Suite) {
	const limit, buffers = 2, 4 // a buffer is free when a send is refused
	p := connectPair(t, s.sharingSend(t, buffers, s.bufferBytes), func(_, client *netio.Params) { client.ZeroCopy.Outstanding = limit })
	e := p.opened
	p.choke(t)
	for i := 0; ; i++ {
		b := p.client.buffer(t, e)
		fill(b.Extend(b.Available()), byte(i))
		err := e.sendBuffer(b)
		if err == nil && i < 10_000 { // what had drained since
			continue
		}
		wantError(t, "SendBuffer of a shared buffer to a full connection", err, netio.ErrNoResources)
		p.server.resume(t, p.accepted)
		for errors.Is(err, netio.ErrNoResources) { // and the buffer stays ours
			e.waitReady(t)
			err = e.sendBuffer(b)
		}
		wantError(t, "SendBuffer again after OnSendReady", err, nil)
		break
	}
	e.waitIdle(t)
	p.accepted.waitReceived(t, len(e.sent))
	p.fence(t)
	checkReceived(t, e, p.accepted, false)
}

func checkRoom(t TB, s Suite) {
	p := connectPair(t, s, nil)
	e, n := p.opened, 0
	check := func(when string, want netio.Room) {
		t.Helper()
		if got := e.ep.Room(); got != want {
			t.Errorf("Room %s: got %+v, want %+v", when, got, want)
		}
	}
	if s.Capabilities.Buffered {
		n = s.buffers
	}
	const sends = suiteOutstanding
	check("of a new endpoint", netio.Room{Buffers: n, MinBuffers: n, Sends: sends, MinSends: sends})
	var taken []*netio.Buffer
	for range min(n, 3) {
		taken = append(taken, p.client.buffer(t, e))
	}
	left := n - len(taken)
	check("with buffers taken", netio.Room{Buffers: left, MinBuffers: left, Sends: sends, MinSends: sends})
	for _, b := range taken {
		p.client.release(b)
	}
	check("after their release", netio.Room{Buffers: n, MinBuffers: left, Sends: sends, MinSends: sends})
	check("when nothing has happened since", netio.Room{Buffers: n, MinBuffers: n, Sends: sends, MinSends: sends})

	p.choke(t)
	p.client.onLoop(t, func() { // where no completion comes between
		for e.send(e.ways()[len(e.ways())-1], 1, nil, p.client.word) == nil {
			continue
		}
		if r := e.ep.Room(); r.Sends != 0 || r.MinSends != 0 {
			t.Errorf("Room of a full connection: got %+v, want no sends", r)
		}
	})
	p.server.resume(t, p.accepted)
	e.waitIdle(t)
	if r := e.ep.Room(); r.Sends != sends || r.MinSends != 0 {
		t.Errorf("Room of a connection that was full: got %+v, want %d sends and a minimum of 0", r, sends)
	}
	if r := e.ep.Room(); r.Sends != sends || r.MinSends != sends {
		t.Errorf("Room when nothing was sent since: got %+v, want %d sends and as many at least", r, sends)
	}
}
