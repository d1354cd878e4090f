// SPDX-License-Identifier: Apache-2.0

package netiotest

import (
	"errors"
	"slices"

	"pgregory.net/rapid"

	"tagbus/netio"
)

// walkPieces is the most pieces of a message of a walk: more than any system
// call takes.
const walkPieces = 2500

// message draws the pieces of a message.
func (w *walk) message(rt *rapid.T, way way) (header []byte, data [][]byte) {
	header = w.mem[:rapid.IntRange(0, netio.MaxHeaderBytes).Draw(rt, "header")]
	largest := w.s.scaled(128 << 10)
	if way == buffered {
		largest = (suiteBufferBytes - netio.MaxHeaderBytes) / 3
	}
	if rapid.IntRange(0, 7).Draw(rt, "many pieces") == 0 {
		n := rapid.IntRange(1, walkPieces).Draw(rt, "pieces")
		if w.s.MaxPieces > 0 {
			n = min(n, w.s.MaxPieces)
		}
		return header, w.cut(rt, n, largest)
	}
	for range rapid.IntRange(1, 3).Draw(rt, "pieces") {
		from := rapid.IntRange(0, 1000).Draw(rt, "from")
		n := rapid.OneOf(rapid.IntRange(1, 40), rapid.IntRange(1, largest)).Draw(rt, "bytes")
		data = append(data, w.mem[from:from+n])
	}
	return header, data
}

// cut returns n pieces, together no more than limit, that lie apart from each
// other, so that they stay pieces.
func (w *walk) cut(rt *rapid.T, n, limit int) (data [][]byte) {
	size := rapid.IntRange(1, 40).Draw(rt, "bytes of each")
	n = max(1, min(n, limit/size))
	for i := range n {
		from := i * (size + 1)
		data = append(data, w.mem[from:from+size])
	}
	return data
}

func (w *walk) send(rt *rapid.T) {
	l, i := w.pick(rt)
	way := w.drawWay(rt)
	header, data := w.message(rt, way)
	w.trySend(rt, l, i, way, netio.Key(rapid.Uint64().Draw(rt, "key")), header, data)
}

// burst sends one message until there is no room.
func (w *walk) burst(rt *rapid.T) {
	l, i := w.pick(rt)
	way := w.drawWay(rt)
	header, data := w.message(rt, way)
	key := netio.Key(rapid.Uint64().Draw(rt, "key"))
	for range 2 * suiteOutstanding {
		if !w.trySend(rt, l, i, way, key, header, data) {
			return
		}
	}
}

// drawWay draws one of the ways that the backend has.
func (w *walk) drawWay(rt *rapid.T) way {
	return rapid.SampledFrom((&end{capabilities: w.s.Capabilities}).ways()).Draw(rt, "way")
}

// trySend sends from one end of l, if that has one. What is refused must be for
// want of room, or because the end is closed.
func (w *walk) trySend(rt *rapid.T, l *walkLink, i int, way way, key netio.Key, header []byte, data [][]byte) bool {
	e := l.ends[i]
	if e == nil {
		return false
	}
	err := e.send(way, key, header, data...)
	w.checkRefusal(rt, l, e, "send "+way.String(), err)
	return err == nil
}

// checkRefusal checks the error of a call that needs room.
func (w *walk) checkRefusal(rt *rapid.T, l *walkLink, e *end, what string, err error) {
	switch {
	case err == nil && l.owners[0].dead && e == l.ends[0]:
		rt.Fatalf("%s: %s on a closed backend: got no error, want %v", e.r.name, what, netio.ErrClosed)
	case err == nil, errors.Is(err, netio.ErrNoResources):
	case !l.over || !errors.Is(err, netio.ErrClosed):
		rt.Fatalf("%s: %s: got error %v, want none or %v", e.r.name, what, err, netio.ErrNoResources)
	}
}

// hold takes a buffer and fills it.
func (w *walk) hold(rt *rapid.T) {
	if !w.s.Capabilities.Buffered {
		rt.Skip("there are no buffers")
	}
	l, i := w.pick(rt)
	n := rapid.IntRange(1, suiteBufferBytes).Draw(rt, "bytes")
	l.holds[i]++
	e := l.ends[i]
	if e == nil {
		return
	}
	var b *netio.Buffer
	var err error
	e.r.call(func() {
		if b, err = e.ep.Buffer(); errors.Is(err, netio.ErrNoResources) {
			e.refusals++
		}
		if err == nil {
			w.signed.sign(b)
			_, err = b.Write(w.mem[:n])
		}
	})
	if w.checkRefusal(rt, l, e, "Buffer", err); err == nil {
		l.held[i] = append(l.held[i], heldBuffer{b, e.r})
	}
}

// unhold sends or releases a held buffer, even of a link that has ended, or
// keeps it until its backend has ended too.
func (w *walk) unhold(rt *rapid.T) {
	all := slices.DeleteFunc(slices.Clone(w.links), func(l *walkLink) bool { return l.holds == [2]int{} })
	if len(all) == 0 {
		rt.Skip("no buffer is held")
	}
	l := rapid.SampledFrom(all).Draw(rt, "link")
	i := 0
	if l.holds[0] == 0 {
		i = 1
	}
	l.holds[i]--
	what := rapid.SampledFrom([]string{"send", "send elsewhere", "release", "keep"}).Draw(rt, "what")
	if len(l.held[i]) == 0 {
		return // there was none when hold asked
	}
	b := l.held[i][0]
	l.held[i] = l.held[i][1:]
	switch {
	case what == "send":
		w.sendHeld(rt, l, i, b)
	case what == "send elsewhere" && w.s.Config.SharedSend.Enabled():
		if l, i = w.elsewhere(rt, l.owners[i]); l == nil {
			b.from.release(b.Buffer)
		} else {
			w.sendHeld(rt, l, i, b)
		}
	case what == "keep" && l.over:
		w.late = append(w.late, b)
	default:
		b.from.release(b.Buffer)
	}
}

// sendHeld sends a held buffer. If the backend's endpoints share it, there may be
// no place for it.
func (w *walk) sendHeld(rt *rapid.T, l *walkLink, i int, b heldBuffer) {
	e := l.ends[i]
	err := e.sendBuffer(b.Buffer)
	if err == nil {
		return
	}
	b.from.release(b.Buffer)
	if w.s.Config.SharedSend.Enabled() || l.over {
		w.checkRefusal(rt, l, e, "SendBuffer", err)
		return
	}
	rt.Fatalf("%s: SendBuffer: got error %v, want none", e.r.name, err)
}

// elsewhere returns the last link that lives and its end at n, or nil.
func (w *walk) elsewhere(t TB, n *walkNode) (*walkLink, int) {
	t.Helper()
	for _, l := range slices.Backward(w.links) {
		if l.over {
			continue
		}
		w.know(t, l)
		if i := slices.Index(l.owners[:], n); i >= 0 {
			return l, i
		}
	}
	return nil, 0
}

// release gives back what is held of l.
func (l *walkLink) release() {
	for i := range l.held {
		for _, b := range l.held[i] {
			b.from.release(b.Buffer)
		}
		l.held[i], l.holds[i] = nil, 0
	}
}
