package netiotest

import (
	"errors"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"tagbus/netio"
)

// RandomRun opens, sends in every way, holds buffers, pauses, resumes, closes
// and (with Suite.Reset) breaks connections at random, and compares with a
// model: every accepted key is reported exactly once and in order, what
// arrives is what was sent, in order, all of it where the connection lived,
// and when all is quiet all buffers are free.
//
// A failure prints the seed and the shortest run that shows it; the flags
// -rapid.checks and -rapid.seed say how many runs there are and which.
func RandomRun(t *testing.T, s Suite) {
	t.Helper()
	randomRun(t, s)
}

func randomRun(t rapid.TB, s Suite) {
	t.Helper()
	s = s.withDefaults()
	rapid.Check(t, func(rt *rapid.T) { newWalk(rt, s).run(rt) })
}

// walkListeners bounds the connections of a walk: one for each.
const walkListeners = 3

// walk is one random run.
type walk struct {
	*pair
	listeners []netio.ListenEndpoint
	links     []*walkLink
	mem       []byte
}

// walkLink is one connection of a walk, as the model knows it.
type walkLink struct {
	listener int
	ends     [2]*end // opened, accepted
	held     [2][]*netio.Buffer
	closing  bool // somebody has closed or reset it
}

func newWalk(rt *rapid.T, s Suite) *walk {
	w := &walk{pair: openPair(rt, s)}
	w.mem = w.memory(rt, 256<<10)
	for range walkListeners {
		w.listeners = append(w.listeners, w.server.listen(rt, s, w.params()))
	}
	return w
}

func (w *walk) run(rt *rapid.T) {
	actions := map[string]func(*rapid.T){
		"open":   w.open,
		"send":   w.send,
		"burst":  w.burst,
		"hold":   w.hold,
		"unhold": w.unhold,
		"pause":  w.pauseOne,
		"resume": w.resumeOne,
		"close":  w.closeOne,
		"settle": w.settleOne,
	}
	if w.s.Reset != nil {
		actions["reset"] = w.resetOne
	}
	w.open(rt)
	rt.Repeat(actions)
	w.settle(rt)
}

// pick returns a link that is not closing and one of its ends, or skips the
// action.
func (w *walk) pick(rt *rapid.T) (*walkLink, int) {
	live := slices.DeleteFunc(slices.Clone(w.links), func(l *walkLink) bool { return l.closing })
	if len(live) == 0 {
		rt.Skip("nothing is connected")
	}
	return rapid.SampledFrom(live).Draw(rt, "link"), rapid.IntRange(0, 1).Draw(rt, "end")
}

func (w *walk) side(i int) *side { return []*side{w.client, w.server}[i] }

func (w *walk) open(rt *rapid.T) {
	i := rapid.IntRange(0, walkListeners-1).Draw(rt, "listener")
	addr := w.listeners[i].Addr()
	for _, l := range w.links {
		if l.listener == i && !l.closing {
			opError(rt, "OpenEndpoint while one is open", w.client.b.OpenEndpoint(addr, w.params()), addr, netio.ErrEndpointExists)
			return
		}
	}
	for _, l := range w.links {
		w.waitEnded(rt, l, i)
	}
	client, server := w.client.count(), w.server.count()
	w.client.dial(rt, addr, w.params())
	l := &walkLink{listener: i, ends: [2]*end{w.client.established(rt, client), w.server.established(rt, server)}}
	w.links = append(w.links, l)
}

// waitEnded waits for both ends of a link that is closing.
func (w *walk) waitEnded(rt *rapid.T, l *walkLink, listener int) {
	if l.listener != listener {
		return
	}
	for i, e := range l.ends {
		w.side(i).resume(rt, e) // a paused end need not see the end behind unread bytes
		e.waitClosed(rt)
	}
}

// message draws the pieces of a message.
func (w *walk) message(rt *rapid.T, way way) (header []byte, data [][]byte) {
	header = w.mem[:rapid.IntRange(0, netio.MaxHeaderBytes).Draw(rt, "header")]
	largest := 128 << 10
	if way == buffered {
		largest = (suiteBufferBytes - netio.MaxHeaderBytes) / 3
	}
	for range rapid.IntRange(1, 3).Draw(rt, "pieces") {
		from := rapid.IntRange(0, 1000).Draw(rt, "from")
		n := rapid.OneOf(rapid.IntRange(1, 40), rapid.IntRange(1, largest)).Draw(rt, "bytes")
		data = append(data, w.mem[from:from+n])
	}
	return header, data
}

func (w *walk) send(rt *rapid.T) {
	l, i := w.pick(rt)
	way := rapid.SampledFrom(l.ends[i].ways()).Draw(rt, "way")
	header, data := w.message(rt, way)
	w.trySend(rt, l.ends[i], way, header, data)
}

func (w *walk) trySend(rt *rapid.T, e *end, way way, header []byte, data [][]byte) bool {
	key := netio.Key(rapid.Uint64().Draw(rt, "key"))
	err := e.send(way, key, header, data...)
	if err != nil && !errors.Is(err, netio.ErrNoResources) {
		rt.Fatalf("%s: send %v: got error %v, want none or %v", e.r.name, way, err, netio.ErrNoResources)
	}
	return err == nil
}

// burst sends one message until there is no room.
func (w *walk) burst(rt *rapid.T) {
	l, i := w.pick(rt)
	way := rapid.SampledFrom(l.ends[i].ways()).Draw(rt, "way")
	header, data := w.message(rt, way)
	for range 2 * suiteOutstanding {
		if !w.trySend(rt, l.ends[i], way, header, data) {
			return
		}
	}
}

// hold takes a buffer and fills it.
func (w *walk) hold(rt *rapid.T) {
	l, i := w.pick(rt)
	e := l.ends[i]
	if !e.capabilities.Buffered {
		return
	}
	var b *netio.Buffer
	var err error
	e.r.call(func() {
		if b, err = e.ep.Buffer(); errors.Is(err, netio.ErrNoResources) {
			e.refusals++
		}
	})
	if err != nil {
		wantError(rt, "Buffer", err, netio.ErrNoResources)
		return
	}
	if _, err := b.Write(w.mem[:rapid.IntRange(1, suiteBufferBytes).Draw(rt, "bytes")]); err != nil {
		rt.Fatalf("Write: got error %v, want none", err)
	}
	l.held[i] = append(l.held[i], b)
}

// unhold sends or releases a held buffer, even of a link that has ended.
func (w *walk) unhold(rt *rapid.T) {
	var all []*walkLink
	for _, l := range w.links {
		if len(l.held[0])+len(l.held[1]) > 0 {
			all = append(all, l)
		}
	}
	if len(all) == 0 {
		rt.Skip("no buffer is held")
	}
	l := rapid.SampledFrom(all).Draw(rt, "link")
	i := 0
	if len(l.held[0]) == 0 {
		i = 1
	}
	b := l.held[i][0]
	l.held[i] = l.held[i][1:]
	if rapid.Bool().Draw(rt, "release") {
		b.Release()
		return
	}
	if err := l.ends[i].sendBuffer(b); err != nil {
		if !l.closing || !errors.Is(err, netio.ErrClosed) {
			rt.Fatalf("SendBuffer: got error %v, want none", err)
		}
		b.Release()
	}
}

func (w *walk) pauseOne(rt *rapid.T) {
	l, i := w.pick(rt)
	w.side(i).pause(rt, l.ends[i])
}

func (w *walk) resumeOne(rt *rapid.T) {
	l, i := w.pick(rt)
	w.side(i).resume(rt, l.ends[i])
}

func (w *walk) closeOne(rt *rapid.T) {
	l, i := w.pick(rt)
	l.closing = true
	if err := l.ends[i].ep.Close(); err != nil {
		rt.Fatalf("Close: got error %v, want none", err)
	}
}

func (w *walk) resetOne(rt *rapid.T) {
	l, _ := w.pick(rt)
	l.closing = true
	w.s.Reset(l.ends[0].ep, l.ends[1].ep)
}

// settleOne lets everything under way on one link arrive.
func (w *walk) settleOne(rt *rapid.T) {
	l, _ := w.pick(rt)
	w.settleLink(rt, l)
}

func (w *walk) settleLink(rt *rapid.T, l *walkLink) {
	for i, e := range l.ends {
		for _, b := range l.held[i] {
			b.Release()
		}
		l.held[i] = nil
		w.side(i).resume(rt, e)
	}
	for i, e := range l.ends {
		other := l.ends[1-i]
		if l.closing {
			e.waitClosed(rt)
			checkReceived(rt, e, other, true)
			continue
		}
		e.waitIdle(rt)
		other.waitReceived(rt, len(e.sent))
		checkReceived(rt, e, other, false)
		if !e.capabilities.Buffered {
			continue
		}
		// All buffers are free again, and with them whatever was refused.
		for _, b := range w.side(i).takeFree(rt, e) {
			b.Release()
		}
	}
}

// takeFree takes all buffers of e, none of which is in use.
func (x *side) takeFree(t TB, e *end) []*netio.Buffer {
	t.Helper()
	var all []*netio.Buffer
	for range suiteBuffers {
		all = append(all, x.buffer(t, e))
	}
	return all
}

func (w *walk) settle(rt *rapid.T) {
	for _, l := range w.links {
		w.settleLink(rt, l)
	}
	w.client.closeBackend(rt)
	w.server.closeBackend(rt)
	for _, l := range w.links {
		for i, e := range l.ends {
			checkReceived(rt, e, l.ends[1-i], true)
		}
	}
}
