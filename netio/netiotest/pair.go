// SPDX-License-Identifier: Apache-2.0

package netiotest

import (
	"errors"
	"fmt"
	"net/netip"

	"tagbus/internal/goroutine"
	"tagbus/netio"
)

// Sizes of the connections that the suite opens unless a test is about sizes.
const (
	suiteBuffers     = 4
	suiteBufferBytes = 4 << 10
	suiteOutstanding = 16
	suiteRegion      = 8 // of the largest messages
)

// side is one backend with its recorder.
type side struct {
	*recorder
	b            netio.Backend
	bare         netio.Backend // b as Suite.Open has returned it
	refusalsSeen int           // of recorder.refused, by waitRefused
}

// openSide opens a backend and checks at the end of the test what its recorder
// has seen.
func openSide(t TB, s Suite, name string) *side {
	t.Helper()
	r := newRecorder(name, s.Patience)
	t.Cleanup(func() { r.finish(t) }) // after the Close that Open registers
	x := &side{recorder: r}
	var user netio.Handler = r
	if s.parts {
		user = partsRecorder{r}
	}
	if s.Config.ThreadSafety == netio.Unsafe {
		m := openMarshal(user, func(h netio.Handler) netio.Backend { return s.Open(t, s.Config, h) })
		x.b, x.bare = m, m.Backend
		r.hop = m.do
	} else {
		x.bare = s.Open(t, s.Config, user)
		x.b = x.bare
	}
	x.onLoop(t, func() { r.loopID.Store(goroutine.Self()) })
	return x
}

// onLoop runs f on the side's loop and waits for it.
func (x *side) onLoop(t TB, f func()) {
	t.Helper()
	done := false
	if !x.b.Loop().Post(func() { f(); x.note(func() { done = true }) }) {
		t.Fatalf("%s: Post: got false, want true: the loop does not run", x.name)
	}
	x.wait(t, "a posted function to run", func() bool { return done })
}

// listen listens on the suite's address and closes nothing: the backend does.
func (x *side) listen(t TB, s Suite, p netio.Params) netio.ListenEndpoint {
	t.Helper()
	l, err := x.b.OpenListenEndpoint(s.ListenAddr, p)
	if err != nil {
		t.Fatalf("%s: OpenListenEndpoint(%v): got error %v, want none", x.name, s.ListenAddr, err)
	}
	return l
}

// dial opens an endpoint.
func (x *side) dial(t TB, addr netip.AddrPort, p netio.Params) {
	t.Helper()
	if err := x.b.OpenEndpoint(addr, p); err != nil {
		t.Fatalf("%s: OpenEndpoint(%v): got error %v, want none", x.name, addr, err)
	}
}

// established waits for the nth connection of the side, from 0.
func (x *side) established(t TB, n int) *end {
	t.Helper()
	x.wait(t, fmt.Sprintf("connection %d to be established", n), func() bool {
		return len(x.ends) > n || len(x.refused) > x.refusalsSeen
	})
	x.mu.Lock()
	defer x.mu.Unlock()
	if len(x.ends) <= n {
		t.Fatalf("%s: connection %d: got refused (%v), want established", x.name, n, x.refused[x.refusalsSeen].err)
	}
	return x.ends[n]
}

// count returns how many connections the side has had.
func (x *side) count() (n int) {
	x.locked(func() { n = len(x.ends) })
	return n
}

// waitRefused waits for the next OnConnectionRefused.
func (x *side) waitRefused(t TB) refusal {
	t.Helper()
	x.wait(t, "OnConnectionRefused", func() bool { return len(x.refused) > x.refusalsSeen })
	x.refusalsSeen++
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.refused[x.refusalsSeen-1]
}

// opError fails the test unless err is an *OpError about addr that wraps want.
func opError(t TB, what string, err error, addr netip.AddrPort, want error) {
	t.Helper()
	var op *netio.OpError
	if !errors.As(err, &op) || !errors.Is(err, want) {
		t.Errorf("%s: got error %v, want an *OpError that wraps %v", what, err, want)
		return
	}
	if op.Addr != addr || op.Op == "" {
		t.Errorf("%s: got an *OpError about %q %v, want one about %v that names the operation", what, op.Op, op.Addr, addr)
	}
}

// wantError fails the test unless err wraps want.
func wantError(t TB, what string, err, want error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Errorf("%s: got error %v, want %v", what, err, want)
	}
}

// pair is a server, a client and the connections between them.
type pair struct {
	s              Suite
	server, client *side
	l              netio.ListenEndpoint
	region         []byte // what zero-copy sends come from
	used           int    // bytes of region handed out
	accepted       *end   // the server's end of the first connection
	opened         *end   // the client's end of it
}

// params are those of the suite's connections; the region is the pair's.
func (p *pair) params() netio.Params { return p.s.params(p.region) }

// openPair opens two backends that are not connected yet.
func openPair(t TB, s Suite) *pair {
	t.Helper()
	region, err := s.Region(suiteRegion * s.MessageBytes)
	if err != nil {
		t.Fatalf("Suite.Region: got error %v, want none", err)
	}
	t.Cleanup(func() { // when both backends are closed
		if err := netio.FreeRegion(region); err != nil {
			t.Errorf("FreeRegion: got error %v, want none", err)
		}
	})
	p := &pair{s: s, region: region}
	p.server = openSide(t, s, "server")
	p.client = openSide(t, s, "client")
	word := p.memory(t, 20)
	p.server.word, p.client.word = word, word
	return p
}

// connectPair opens two backends and a connection with the suite's params,
// changed by change if it is not nil.
func connectPair(t TB, s Suite, change func(server, client *netio.Params)) *pair {
	t.Helper()
	p := openPair(t, s)
	sp, cp := p.params(), p.params()
	if change != nil {
		change(&sp, &cp)
	}
	p.l = p.server.listen(t, s, sp)
	p.client.dial(t, p.l.Addr(), cp)
	p.opened = p.client.established(t, 0)
	p.accepted = p.server.established(t, 0)
	return p
}

// connect opens an endpoint from x to a listen endpoint of the server.
func (p *pair) connect(t TB, x *side, l netio.ListenEndpoint, params netio.Params) (opened, accepted *end) {
	t.Helper()
	there, here := x.count(), p.server.count()
	x.dial(t, l.Addr(), params)
	return x.established(t, there), p.server.established(t, here)
}

// memory hands out n bytes of the region, filled with a pattern of its own.
func (p *pair) memory(t TB, n int) []byte {
	t.Helper()
	if p.used+n > len(p.region) {
		t.Fatalf("the region of the suite has no %d bytes left: got %d, want them reused", n, len(p.region)-p.used)
	}
	mem := p.region[p.used : p.used+n : p.used+n]
	fill(mem, byte(p.used/7))
	p.used += n
	return mem
}

// fill writes a pattern that depends on seed and has no short period.
func fill(mem []byte, seed byte) {
	for i := range mem {
		mem[i] = seed + byte(i) + byte(i>>8)*3 + byte(i>>16)*5
	}
}

// has skips the test unless the backend has a capability.
func (p *pair) has(t TB, w way) {
	t.Helper()
	c := p.s.Capabilities
	if (w == buffered && !c.Buffered) || (w == zeroCopy && !c.ZeroCopy) || (w == immediate && !c.Immediate) || (w == direct && !c.Direct) {
		t.Skipf("the backend does not send %s", w)
	}
}

// pause stops the receiving of e on its loop.
func (x *side) pause(t TB, e *end) {
	t.Helper()
	x.onLoop(t, func() {
		e.ep.PauseReceive()
		x.locked(func() { e.paused = true })
	})
}

// resume undoes pause.
func (x *side) resume(t TB, e *end) {
	t.Helper()
	x.onLoop(t, func() {
		x.locked(func() { e.paused = false })
		e.ep.ResumeReceive()
	})
}

// unhook takes the hooks away and waits for those that run, so that they do not
// see the end of the test.
func (p *pair) unhook(t TB) {
	t.Helper()
	for _, x := range []*side{p.client, p.server} {
		x.hook(hooks{})
		x.onLoop(t, func() {})
	}
}

// fence returns when a message has gone from the client to the server and back
// over a connection of its own, and both loops have turned after it: what was
// under way before has arrived, or does not come.
func (p *pair) fence(t TB) {
	t.Helper()
	l := p.server.listen(t, p.s, p.params())
	c, s := p.connect(t, p.client, l, p.params())
	for _, hop := range [][2]*end{{c, s}, {s, c}} {
		hop[0].sendAll(t, hop[0].ways()[0], 0, nil, hop[0].r.word)
		hop[1].waitReceived(t, 1)
		hop[0].waitIdle(t)
	}
	if err := l.Close(); err != nil {
		t.Fatalf("close the listen endpoint of the fence: got error %v, want none", err)
	}
	s.waitClosed(t)
	c.waitClosed(t)
	for _, x := range []*side{p.client, p.server} {
		x.onLoop(t, func() {})
	}
}
