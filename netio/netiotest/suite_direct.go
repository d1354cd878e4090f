// SPDX-License-Identifier: Apache-2.0

package netiotest

import (
	"errors"
	"slices"
	"sync/atomic"

	"tagbus/netio"
)

// directChecks are about SendDirect, beyond what all ways of sending have in common.
var directChecks = []check{
	{"without the capability SendDirect is refused", checkDirectRefused},
	{"an idle connection takes direct sends whole", checkDirectIdle},
	{"memory of a direct send that is done may be reused at once", checkDirectReuse},
	{"a direct send that is done is not outstanding", checkDirectRoom},
	{"a direct send may be done inside every callback", checkDirectInside},
	{"a direct send to a full connection is accepted or refused as by Send", checkDirectFull},
	{"memory of a direct send that is not done may be reused at its completion", checkDirectPart},
	{"direct sends do not overtake those that wait, nor do these overtake them", checkDirectOrder},
	{"an endpoint may be closed by one goroutine while others send directly", checkDirectClose},
	{"direct sends over a connection that breaks end with its cause", checkDirectReset},
}

// checkDirectRefused is for backends without it; the others have the rest.
func checkDirectRefused(t TB, s Suite) {
	if s.Capabilities.Direct {
		t.Skipf("the backend sends directly")
	}
	p := connectPair(t, s, nil)
	wantError(t, "SendDirect", p.opened.send(direct, 1, nil, p.client.word), netio.ErrNotSupported)
}

// connectDirect opens a connection, or skips the test.
func connectDirect(t TB, s Suite, change func(server, client *netio.Params)) *pair {
	t.Helper()
	p := connectPair(t, s, change)
	p.has(t, direct)
	return p
}

// directs returns how many sends of e were done.
func (e *end) directs() (n int) {
	e.r.locked(func() { n = e.direct })
	return n
}

// mostTries is after how many direct sends over an idle connection at least one has been
// done. A backend need not do each: the system may have no room.
const mostTries = 1000

// sendDone sends small messages, one at a time, until one is done.
func (e *end) sendDone(t TB, data []byte) {
	t.Helper()
	before := e.directs()
	for range mostTries {
		e.sendAll(t, direct, 1, nil, data)
		e.waitIdle(t)
		if e.directs() > before {
			return
		}
	}
	t.Fatalf("%s: %d direct sends over an idle connection: got none done, want one", e.r.name, mostTries)
}

func checkDirectIdle(t TB, s Suite) {
	p := connectDirect(t, s, nil)
	p.both(func(from, to *end) {
		for range 10 {
			from.sendDone(t, from.r.word)
		}
		from.r.locked(func() {
			if got, want := len(from.completed)+from.direct, len(from.sent); got != want {
				t.Errorf("%s: got %d completions and %d sends done, want %d together", from.r.name, len(from.completed), from.direct, want)
			}
		})
		to.waitReceived(t, len(from.sent))
		checkReceived(t, from, to, false)
	})
	for _, x := range []struct {
		*side
		e *end
	}{{p.client, p.opened}, {p.server, p.accepted}} {
		if got := x.b.Stats(); got.MessagesDirect != uint64(x.e.direct) || got.MessagesSent != uint64(len(x.e.sent)) {
			t.Errorf("%s: Stats: got %d messages of which %d were done directly, want %d and %d",
				x.name, got.MessagesSent, got.MessagesDirect, len(x.e.sent), x.e.direct)
		}
	}
}

func checkDirectReuse(t TB, s Suite) {
	p := connectDirect(t, s, nil)
	header := make([]byte, netio.MaxHeaderBytes)
	pieces := make([][]byte, 3)
	own := p.memory(t, 3*1000)
	for i := range Few(300, 100) {
		fill(header, byte(i))
		fill(own, byte(3*i))
		for j := range pieces {
			pieces[j] = own[j*1000:][:1+i*(j*j+1)%1000]
		}
		done, err := p.opened.sendOne(direct, 1, header, pieces...)
		fill(header, 0x55)
		clear(pieces)
		if err != nil {
			wantError(t, "SendDirect", err, netio.ErrNoResources)
		}
		if !done {
			p.opened.waitIdle(t)
		}
		fill(own, 0x55)
	}
	p.accepted.waitReceived(t, len(p.opened.sent))
	checkReceived(t, p.opened, p.accepted, false)
	if p.opened.direct == 0 {
		t.Errorf("%d direct sends: got none done, want some", len(p.opened.sent))
	}
}

func checkDirectRoom(t TB, s Suite) {
	const limit = 1
	p := connectDirect(t, s, func(_, client *netio.Params) { client.ZeroCopy.Outstanding = limit })
	e := p.opened
	for range 3 {
		// Nothing is outstanding, and one that is done does not change that.
		p.client.onLoop(t, func() {
			e.ep.Room()
			for range 5 {
				if done, err := e.sendOne(direct, 1, nil, p.client.word); err != nil || !done {
					return
				}
				if got := e.ep.Room(); got.Sends != limit || got.MinSends != limit {
					t.Errorf("Room after a direct send that was done: got %+v, want %d free places and never fewer", got, limit)
				}
			}
		})
		e.waitIdle(t)
	}
	p.accepted.waitReceived(t, len(e.sent))
	checkReceived(t, e, p.accepted, false)
}

func checkDirectInside(t TB, s Suite) {
	for _, callback := range []string{"OnConnectionEstablished", "OnData", "OnSendCompleted"} {
		p := openPair(t, s)
		p.has(t, direct)
		var tries atomic.Int32
		try := func(e *end, here string) {
			if here == callback && e.directs() == 0 && tries.Add(1) < mostTries {
				e.answerDirect(t)
			}
		}
		p.client.hook(hooks{
			established: func(e *end) { try(e, "OnConnectionEstablished") },
			data:        func(e *end, _ []byte) { try(e, "OnData") },
			completed:   func(e *end, _ netio.Key) { try(e, "OnSendCompleted") },
		})
		p.client.dial(t, p.server.listen(t, s, p.params()).Addr(), p.params())
		p.opened, p.accepted = p.client.established(t, 0), p.server.established(t, 0)
		for callback != "OnConnectionEstablished" && p.opened.directs() == 0 {
			if tries.Load() >= mostTries {
				t.Fatalf("%d direct sends inside %s: got none done, want one", mostTries, callback)
			}
			p.both(func(from, _ *end) { from.sendAll(t, zeroCopy, 1, nil, from.r.word) })
			p.settle(t)
		}
		p.unhook(t)
		p.settle(t)
	}
}

// settle waits until all is completed and received, and no hook runs any more. A hook that
// still runs may send, for which settle waits too.
func (p *pair) settle(t TB) {
	t.Helper()
	for before := -1; before < p.sent(); {
		before = p.sent()
		p.both(func(from, to *end) {
			from.waitIdle(t)
			to.waitReceived(t, from.sends())
		})
		p.client.onLoop(t, func() {})
		p.server.onLoop(t, func() {})
	}
	p.both(func(from, to *end) { checkReceived(t, from, to, false) })
}

// sent returns how many messages both ends have sent.
func (p *pair) sent() (n int) {
	p.both(func(from, _ *end) { n += from.sends() })
	return n
}

// sends returns how many messages the end has sent.
func (e *end) sends() (n int) {
	e.r.locked(func() { n = len(e.sent) })
	return n
}

// answerDirect sends directly inside a callback.
func (e *end) answerDirect(t TB) {
	if err := e.send(direct, 1, nil, e.r.word); err != nil && !errors.Is(err, netio.ErrNoResources) {
		t.Errorf("SendDirect inside a callback: got error %v, want none or %v", err, netio.ErrNoResources)
	}
}

func checkDirectFull(t TB, s Suite) {
	p := connectDirect(t, s, nil)
	p.server.pause(t, p.accepted)
	e := p.opened
	p.fill(t, direct, p.memory(t, s.scaled(200<<10)))
	e.r.locked(func() {
		if got := len(e.accepted) - len(e.completed); got == 0 || got > suiteOutstanding {
			t.Errorf("direct sends outstanding to a receiver that is paused: got %d, want 1 to %d", got, suiteOutstanding)
		}
	})
	done, err := e.sendOne(direct, 1, nil, p.client.word)
	for range 2 * suiteOutstanding { // what had drained since
		if err != nil {
			break
		}
		if done {
			t.Errorf("a direct send to a full connection: got done, want it to wait for those before it")
		}
		done, err = e.sendOne(direct, 1, nil, p.client.word)
	}
	wantError(t, "direct send to a full connection", err, netio.ErrNoResources)
	p.server.resume(t, p.accepted)
	p.client.wait(t, "one OnSendReady for each ErrNoResources", func() bool { return e.ready == e.refusals })
	e.waitIdle(t)
	e.sendDone(t, p.client.word)
	p.accepted.waitReceived(t, len(e.sent))
	checkReceived(t, e, p.accepted, false)
}

func checkDirectPart(t TB, s Suite) {
	p := connectDirect(t, s, nil)
	data := p.memory(t, s.MessageBytes)
	for round := range 5 {
		p.server.pause(t, p.accepted)
		for { // until the system, or the window, takes only a part
			fill(data, byte(round))
			done, err := p.opened.sendOne(direct, 1, data[:round], data[round:1000], data[1000:])
			if err != nil {
				t.Fatalf("SendDirect over an idle connection: got error %v, want none", err)
			}
			if !done {
				break
			}
		}
		// More behind it, which must not come between its parts.
		for _, w := range p.opened.ways() {
			p.opened.sendAll(t, w, 2, nil, p.client.word)
		}
		p.server.resume(t, p.accepted)
		p.opened.waitIdle(t)
		fill(data, 0x55)
		p.accepted.waitReceived(t, len(p.opened.sent))
	}
	checkReceived(t, p.opened, p.accepted, false)
}

func checkDirectOrder(t TB, s Suite) {
	p := connectDirect(t, s, nil)
	mem := p.memory(t, 3000)
	p.both(func(from, to *end) {
		ways := slices.DeleteFunc(from.ways(), func(w way) bool { return w == direct })
		for i := range Few(500, 150) {
			for range i % 4 {
				from.sendAll(t, ways[i%len(ways)], netio.Key(i), nil, mem[i:i+1+i*i%2000])
			}
			for range 1 + i%3 {
				from.sendAll(t, direct, netio.Key(i), mem[:i%17], mem[i:i+1+i%900])
			}
			if i%8 == 0 {
				from.waitIdle(t)
			}
		}
		from.waitIdle(t)
		to.waitReceived(t, len(from.sent))
		checkReceived(t, from, to, false)
	})
}
