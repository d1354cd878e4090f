// SPDX-License-Identifier: Apache-2.0

package netiotest

import (
	"errors"
	"fmt"
	"slices"

	"tagbus/netio"
)

// resourceChecks are about buffers, the queue and ErrNoResources.
var resourceChecks = []check{
	{"ErrNoResources is answered by one OnSendReady each, and then sending goes on", checkReady},
	{"no more sends are outstanding than asked for", checkOutstanding},
	{"all buffers can be taken, and one more is refused", checkBuffers},
	{"a completion returns the buffer before it is reported", checkBufferInCompletion},
	{"a released buffer can be taken again", checkRelease},
	{"a foreign buffer is refused", checkForeignBuffer},
	{"a buffer cannot be sent twice", checkDoubleSend},
	{"completions come in order and exactly once", checkCompletions},
}

func checkReady(t TB, s Suite) {
	p := connectPair(t, s, nil)
	p.choke(t)
	e := p.opened
	w := e.ways()[len(e.ways())-1]
	data := p.memory(t, s.bufferBytes)
	p.client.onLoop(t, func() { // where no OnSendReady comes between
		for refused := 0; refused < 5; {
			err := e.send(w, 9, nil, data)
			if err == nil { // what had drained since
				continue
			}
			wantError(t, "send to a full connection", err, netio.ErrNoResources)
			refused++
		}
		p.client.locked(func() {
			if e.ready >= e.refusals {
				t.Errorf("OnSendReady of a full connection: got %d, want less than the %d refusals", e.ready, e.refusals)
			}
		})
	})
	p.server.resume(t, p.accepted)
	p.client.wait(t, "one OnSendReady for each ErrNoResources", func() bool { return e.ready == e.refusals })
	for i := range 100 {
		e.sendAll(t, w, netio.Key(i), nil, data)
	}
	e.waitIdle(t)
	p.accepted.waitReceived(t, len(e.sent))
	p.fence(t)
	p.client.locked(func() {
		if e.ready != e.refusals {
			t.Errorf("OnSendReady: got %d calls, want one for each of %d refusals", e.ready, e.refusals)
		}
	})
	checkReceived(t, e, p.accepted, false)
}

func checkOutstanding(t TB, s Suite) {
	for _, limit := range []int{1, 3, suiteOutstanding} {
		p := connectPair(t, s.sendBuffers(1, s.bufferBytes), func(_, client *netio.Params) {
			client.ZeroCopy.Outstanding = limit
		})
		p.choke(t)
		p.client.locked(func() {
			if got := len(p.opened.accepted) - len(p.opened.completed); got > limit {
				t.Errorf("sends outstanding: got %d, want at most %d", got, limit)
			}
		})
		p.server.resume(t, p.accepted)
		p.opened.waitIdle(t)
		p.accepted.waitReceived(t, len(p.opened.sent))
		checkReceived(t, p.opened, p.accepted, false)
	}
}

// takeAll takes every buffer of e and checks that there is none left.
func (x *side) takeAll(t TB, e *end, n int) []*netio.Buffer {
	t.Helper()
	var all []*netio.Buffer
	for range n {
		all = append(all, x.buffer(t, e))
	}
	e.r.call(func() {
		_, err := e.ep.Buffer()
		wantError(t, fmt.Sprintf("Buffer with all of %d buffers taken", n), err, netio.ErrNoResources)
		e.refusals++
	})
	return all
}

func checkBuffers(t TB, s Suite) {
	p := connectPair(t, s, nil)
	p.has(t, buffered)
	all := p.client.takeAll(t, p.opened, s.buffers)
	var keys []netio.Key
	for _, b := range all {
		keys = append(keys, b.Key())
		if got := b.Available(); got != s.bufferBytes || len(b.Bytes()) != 0 {
			t.Errorf("a new buffer: got %d bytes used and %d free, want 0 and %d", len(b.Bytes()), got, s.bufferBytes)
		}
	}
	slices.Sort(keys)
	for i, key := range keys {
		if key != netio.Key(i) {
			t.Errorf("keys of the buffers: got %v, want 0 to %d", keys, s.buffers-1)
			break
		}
	}
	for _, b := range all {
		fill(b.Extend(b.Available()), byte(b.Key()))
		if err := p.opened.sendBuffer(b); err != nil {
			t.Errorf("SendBuffer: got error %v, want none", err)
		}
	}
	p.client.wait(t, "OnSendReady after the completion of a buffer", func() bool { return p.opened.ready == 1 })
	p.client.release(p.client.buffer(t, p.opened))
	p.opened.waitIdle(t)
	p.accepted.waitReceived(t, s.buffers)
	checkReceived(t, p.opened, p.accepted, false)
}

func checkBufferInCompletion(t TB, s Suite) {
	p := connectPair(t, s.sendBuffers(1, s.bufferBytes), nil)
	p.has(t, buffered)
	left := 50
	p.client.hook(hooks{completed: func(e *end, _ netio.Key) {
		if left--; left > 0 {
			if err := e.send(buffered, 0, nil, fmt.Appendf(nil, "again %d", left)); err != nil {
				t.Errorf("Buffer and SendBuffer inside the completion of the only buffer: got error %v, want none", err)
			}
		}
	}})
	p.opened.sendAll(t, buffered, 0, nil, []byte("first"))
	p.accepted.waitReceived(t, 50)
	p.opened.waitIdle(t)
	checkReceived(t, p.opened, p.accepted, false)
}

func checkRelease(t TB, s Suite) {
	p := connectPair(t, s, nil)
	p.has(t, buffered)
	for range 3 {
		var all []*netio.Buffer
		for range s.buffers {
			all = append(all, p.client.buffer(t, p.opened))
		}
		for _, b := range all {
			p.client.release(b)
		}
	}
}

func checkForeignBuffer(t TB, s Suite) {
	p := connectPair(t, s, nil)
	p.has(t, buffered)
	pool, err := netio.NewPool(1, 100)
	if err != nil {
		t.Fatalf("NewPool: got error %v, want none", err)
	}
	stranger, others := pool.Get(), p.server.buffer(t, p.accepted)
	released := p.client.buffer(t, p.opened)
	for _, b := range []*netio.Buffer{stranger, others, released} {
		if _, err := b.Write([]byte("x")); err != nil {
			t.Fatalf("Write: got error %v, want none", err)
		}
	}
	p.client.release(released)
	tests := []struct {
		name string
		b    *netio.Buffer
	}{
		{"a buffer of the user's own pool", stranger},
		{"a buffer of the other end", others},
		{"a buffer that was released", released},
		{"no buffer", nil},
	}
	for _, tt := range tests {
		wantError(t, "SendBuffer of "+tt.name, p.opened.sendBuffer(tt.b), netio.ErrForeignBuffer)
	}
	stranger.Release()
	if err := pool.Close(); err != nil {
		t.Errorf("Close of the user's own pool: got error %v, want none", err)
	}
	// The other end's buffer is still good there.
	if err := p.accepted.sendBuffer(others); err != nil {
		t.Errorf("SendBuffer at the right end: got error %v, want none", err)
	}
	p.opened.waitReceived(t, 1)
}

func checkDoubleSend(t TB, s Suite) {
	p := connectPair(t, s, nil)
	p.has(t, buffered)
	b := p.client.buffer(t, p.opened)
	if _, err := b.Write([]byte("once")); err != nil {
		t.Fatalf("Write: got error %v, want none", err)
	}
	if err := p.opened.sendBuffer(b); err != nil {
		t.Fatalf("SendBuffer: got error %v, want none", err)
	}
	wantError(t, "SendBuffer of a buffer that was just sent", p.opened.ep.SendBuffer(b), netio.ErrForeignBuffer)
	p.opened.waitIdle(t)
	wantError(t, "SendBuffer of a buffer whose send is complete", p.opened.ep.SendBuffer(b), netio.ErrForeignBuffer)
	p.fence(t)
	checkReceived(t, p.opened, p.accepted, false)
}

func checkCompletions(t TB, s Suite) {
	p := connectPair(t, s, nil)
	ways := p.opened.ways()
	data := p.memory(t, s.bufferBytes)
	n := Few(2000, 400)
	for i := range n { // as fast as they go, so that many complete at once
		w := ways[i%len(ways)]
		if err := p.opened.send(w, netio.Key(i), nil, data[:1+i%97]); errors.Is(err, netio.ErrNoResources) {
			p.opened.sendAll(t, w, netio.Key(i), nil, data[:1+i%97])
		} else if err != nil {
			t.Fatalf("send %v: got error %v, want none", w, err)
		}
	}
	p.opened.waitIdle(t) // the recorder compares each with the order of sending
	p.accepted.waitReceived(t, n)
	checkReceived(t, p.opened, p.accepted, false)
}
