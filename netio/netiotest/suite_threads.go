// SPDX-License-Identifier: Apache-2.0

package netiotest

import (
	"encoding/binary"
	"errors"
	"net/netip"
	"sync"

	"tagbus/netio"
)

// threadChecks are about who may call what from where.
var threadChecks = []check{
	{"no method calls the handler", checkNoCallInside},
	{"every method may be called inside every callback", checkMethodsInside},
	{"many goroutines may send at once", checkConcurrentSenders},
	{"an endpoint may be closed by many while many send", checkConcurrentClose},
	{"one goroutine's calls into two endpoints do not wait for each other", checkCrossing},
}

// callEverything calls every method of e and of its backend that leaves them
// alive, and keeps the books.
func (x *side) callEverything(t TB, s Suite, e *end) {
	x.call(func() { // under the lock that the handler takes
		if l, err := x.b.OpenListenEndpoint(s.ListenAddr, netio.Params{}); err != nil {
			t.Errorf("OpenListenEndpoint: got error %v, want none", err)
		} else {
			_ = l.Addr()
			if err := l.Close(); err != nil {
				t.Errorf("ListenEndpoint.Close: got error %v, want none", err)
			}
		}
		if err := x.b.OpenEndpoint(netip.AddrPort{}, netio.Params{}); !errors.Is(err, netio.ErrInvalidAddress) {
			t.Errorf("OpenEndpoint of the zero AddrPort: got error %v, want %v", err, netio.ErrInvalidAddress)
		}
		_, _, _ = x.b.Name(), x.b.Loop(), x.b.Stats()
		_, _, _ = e.ep.Local(), e.ep.Remote(), e.ep.Capabilities()
		if b, err := e.ep.Buffer(); err == nil {
			x.release(b)
		} else if errors.Is(err, netio.ErrNoResources) {
			e.refusals++
		}
		e.ep.PauseReceive()
		e.ep.ResumeReceive()
	})
	for _, w := range e.ways() {
		err := e.send(w, 1, []byte("head"), e.r.word)
		if err != nil && !errors.Is(err, netio.ErrNoResources) && !errors.Is(err, netio.ErrClosed) {
			t.Errorf("send %v: got error %v, want none, %v or %v", w, err, netio.ErrNoResources, netio.ErrClosed)
		}
	}
}

func checkNoCallInside(t TB, s Suite) {
	p := connectPair(t, s, nil)
	for _, x := range []struct {
		*side
		e *end
	}{{p.server, p.accepted}, {p.client, p.opened}} {
		for range Few(20, 5) {
			x.callEverything(t, s, x.e) // off the loop
			x.onLoop(t, func() {        // and on it, outside a callback
				x.callEverything(t, s, x.e)
				x.e.ep.SetContext(x.e.ep.Context())
			})
		}
		x.call(func() {
			if err := x.e.ep.Close(); err != nil {
				wantError(t, "Close", err, netio.ErrClosed)
			}
		})
		x.e.waitClosed(t)
	}
}

func checkMethodsInside(t TB, s Suite) {
	p := openPair(t, s)
	for _, x := range []*side{p.server, p.client} {
		over := false
		everything := func(e *end) {
			sent := 0
			x.call(func() { sent = len(e.accepted) })
			if over || sent < Few(200, 60) { // each send brings further callbacks
				x.callEverything(t, s, e)
			}
		}
		x.hook(hooks{
			established: everything,
			data:        func(e *end, _ []byte) { everything(e) },
			completed:   func(e *end, _ netio.Key) { everything(e) },
			ready:       everything,
			closed:      func(e *end) { over = true; everything(e) },
		})
	}
	p.client.dial(t, p.server.listen(t, s, p.params()).Addr(), p.params())
	p.opened, p.accepted = p.client.established(t, 0), p.server.established(t, 0)
	p.accepted.waitReceived(t, 30)
	p.opened.waitReceived(t, 30)
	p.close(t, p.opened)
	p.unhook(t)
	p.both(func(from, to *end) { checkReceived(t, from, to, true) })
}

// Of checkConcurrentSenders.
const senders = 8

func sendsPerSender() int { return Few(200, 40) }

func checkConcurrentSenders(t TB, s Suite) {
	s = s.sendBuffers(senders, s.bufferBytes)
	p := connectPair(t, s, nil)
	p.both(func(from, to *end) {
		// Their own books: a lock would make them take turns.
		from.loose = true
		var all sync.WaitGroup
		for i := range senders {
			mem := p.memory(t, sendsPerSender()*8)
			all.Go(func() { from.sendNumbered(t, i, mem) })
		}
		all.Wait()
		from.r.wait(t, "the completion of every send", func() bool { return len(from.completed)+from.direct >= senders*sendsPerSender() })
		to.waitReceived(t, senders*sendsPerSender())
		checkNumbered(t, from, to, s.buffers)
	})
}

// sendNumbered sends messages that carry sender and number, waiting for any
// completion or OnSendReady when there is no room.
func (e *end) sendNumbered(t TB, sender int, mem []byte) {
	ways := e.ways()
	for i := 0; i < sendsPerSender(); {
		data := mem[i*8 : i*8+8]
		binary.LittleEndian.PutUint32(data, uint32(sender))
		binary.LittleEndian.PutUint32(data[4:], uint32(i))
		var before int
		e.r.locked(func() { before = len(e.completed) + e.ready })
		switch _, done, err := e.raw(ways[i%len(ways)], netio.Key(binary.LittleEndian.Uint64(data)), nil, data); {
		case err == nil:
			i++
			if done {
				e.r.note(func() { e.direct++ })
			}
		case errors.Is(err, netio.ErrNoResources):
			e.r.locked(func() { e.refusals++ })
			problem := e.r.await("a completion or OnSendReady after ErrNoResources", func() bool { return len(e.completed)+e.ready > before })
			if problem != "" {
				t.Errorf("%s: %s", e.r.name, problem)
				return
			}
		default:
			t.Errorf("send: got error %v, want none or %v", err, netio.ErrNoResources)
			return
		}
	}
}

// checkNumbered checks what sendNumbered has sent: all of it once, each
// sender's in order, and each completed once, in order.
func checkNumbered(t TB, from, to *end, buffers int) {
	t.Helper()
	var next [senders]uint32
	to.r.locked(func() {
		for _, data := range to.received {
			if len(data) != 8 {
				t.Errorf("%s: got a message of %d bytes, want 8", to.r.name, len(data))
				return
			}
			sender, i := binary.LittleEndian.Uint32(data), binary.LittleEndian.Uint32(data[4:])
			if sender >= senders || i != next[sender] {
				t.Errorf("%s: got message %d of sender %d, want the next of %v", to.r.name, i, sender, next)
				return
			}
			next[sender]++
		}
	})
	var completed [senders]uint32
	from.r.locked(func() {
		if from.ready > from.refusals {
			t.Errorf("%s: OnSendReady came %d times after %d times ErrNoResources", from.r.name, from.ready, from.refusals)
		}
		for _, key := range from.completed {
			if key < netio.Key(buffers) {
				continue // of a buffer
			}
			sender, i := uint32(key), uint32(key>>32)
			if sender >= senders || i < completed[sender] {
				t.Errorf("%s: got completion %d of sender %d, want one from %v on", from.r.name, i, sender, completed)
				return
			}
			completed[sender] = i + 1
		}
		if got := len(from.completed) + from.direct; got != senders*sendsPerSender() {
			t.Errorf("%s: got %d completions and %d sends that were done, want %d together",
				from.r.name, len(from.completed), from.direct, senders*sendsPerSender())
		}
	})
	for i, n := range next {
		if int(n) != sendsPerSender() {
			t.Errorf("%s: messages of sender %d: got %d, want %d", to.r.name, i, n, sendsPerSender())
		}
	}
}

func checkConcurrentClose(t TB, s Suite) {
	for round := range 5 {
		p := connectPair(t, s, nil)
		var all sync.WaitGroup
		closes := make(chan error, 4)
		for i := range 4 {
			all.Go(func() {
				for {
					err := p.opened.send(p.opened.ways()[i%len(p.opened.ways())], netio.Key(i), nil, p.client.word)
					if errors.Is(err, netio.ErrClosed) {
						return
					}
					problem := p.client.await("OnSendReady", func() bool { return p.opened.ready == p.opened.refusals || p.opened.closed })
					if problem != "" {
						t.Errorf("client: %s", problem)
						return
					}
				}
			})
			all.Go(func() {
				if problem := p.opened.r.await("completions", func() bool { return len(p.opened.completed) > 10*round || p.opened.closed }); problem != "" {
					t.Errorf("%s: %s", p.opened.r.name, problem)
				}
				closes <- p.opened.ep.Close()
			})
		}
		all.Wait()
		close(closes)
		closed := 0
		for err := range closes {
			if err == nil {
				closed++
			} else {
				wantError(t, "one of many Close", err, netio.ErrClosed)
			}
		}
		if closed != 1 {
			t.Errorf("Close by 4 at once: got nil for %d, want for 1", closed)
		}
		p.opened.waitClosed(t)
		p.accepted.waitClosed(t)
		checkReceived(t, p.opened, p.accepted, true)
	}
}

func checkCrossing(t TB, s Suite) {
	// Two ends on two loops answer each message with one to the other: a
	// backend that took one end's lock under the other's would stand still.
	p := connectPair(t, s, nil)
	rounds := Few(500, 100)
	for _, x := range []*side{p.client, p.server} {
		owed := 0
		answer := func(e *end) {
			if !e.answer(t) {
				owed++
			}
		}
		x.hook(hooks{
			data: func(e *end, _ []byte) {
				if len(e.received) < rounds {
					answer(e)
				}
			},
			ready: func(e *end) {
				if owed > 0 {
					owed--
					answer(e)
				}
			},
		})
	}
	p.both(func(from, _ *end) { from.sendAll(t, from.ways()[0], 1, nil, from.r.word) })
	p.accepted.waitReceived(t, rounds)
	p.opened.waitReceived(t, rounds)
	p.unhook(t)
}
