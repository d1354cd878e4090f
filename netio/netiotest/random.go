// SPDX-License-Identifier: Apache-2.0

package netiotest

import (
	"flag"
	"slices"
	"strconv"
	"testing"

	"pgregory.net/rapid"

	"tagbus/netio"
)

// RandomRun does at random what users, peers and networks do, and compares with
// a model. A walk has two backends with a configuration of its own that listen
// and dial each other. They
//
//   - open connections: to an address that already has one, to an address without
//     a listener, and again inside the callback that reports the end;
//   - send in every way, one message and until there is no room, of up to
//     thousands of pieces, and hold buffers, also beyond the end of their
//     endpoint;
//   - stop to receive, at one end or both, for as long as it takes;
//   - close endpoints and listen endpoints, on the loop, off it and inside
//     callbacks, break connections (with Suite.Reset), and end as a whole,
//     with and without their loop (Suite.StopLoop), to be opened again.
//
// The model: each accepted OpenEndpoint has one outcome, and each accepted key
// is reported exactly once and in order; an endpoint ends exactly once, and so
// does the other one of its connection; what arrives is what was sent, in
// order, whole messages, and all of it while the connection lives; then all
// buffers can be taken. Of a closed backend the statistics add up, and no
// memory of its send buffers is left. After all walks no goroutine and no file
// descriptor is left (CheckLeaks).
//
// A failure prints the seed and the shortest run that shows it; the flag
// -rapid.seed repeats it. There are Suite.Walks runs. Not for parallel tests.
func RandomRun(t *testing.T, s Suite) {
	t.Helper()
	CheckLeaks(t)
	setWalks(t, s.withDefaults().Walks)
	randomRun(t, s)
}

// setWalks makes rapid do n runs until the end of the test, unless the flag is set.
func setWalks(t *testing.T, n int) {
	t.Helper()
	f := flag.Lookup("rapid.checks")
	if f.Value.String() != f.DefValue {
		return
	}
	if err := f.Value.Set(strconv.Itoa(n)); err != nil {
		t.Fatalf("set -rapid.checks: got error %v, want none", err)
	}
	t.Cleanup(func() { _ = f.Value.Set(f.DefValue) })
}

func randomRun(t rapid.TB, s Suite) {
	t.Helper()
	s = s.withDefaults()
	rapid.Check(t, func(rt *rapid.T) { newWalk(rt, s).run(rt) })
}

// walkSlots is on how many addresses each backend of a walk listens, and so how
// many connections it can have that the other has opened.
const walkSlots = 2

// walk is one random run.
type walk struct {
	*pair  // its suite, region and params
	nodes  [2]*walkNode
	all    []*walkNode // also those that are closed
	slots  [2][walkSlots]*walkSlot
	links  []*walkLink
	late   []heldBuffer // released only when the backends are closed
	mem    []byte
	signed signatures
}

// heldBuffer is a buffer in the hands of the walk.
type heldBuffer struct {
	*netio.Buffer
	from *recorder // of the endpoint that it was taken from
}

func newWalk(rt *rapid.T, s Suite) *walk {
	w := &walk{pair: openPair(rt, drawConfig(rt, s))}
	w.mem = w.memory(rt, w.s.scaled(512<<10))
	for i, x := range []*side{w.client, w.server} {
		w.adopt(i, x)
		for k := range walkSlots {
			slot := &walkSlot{}
			w.slots[i][k] = slot
			w.listen(rt, i, slot, s.ListenAddr)
		}
	}
	return w
}

// drawConfig gives a suite without a configuration one at random.
func drawConfig(rt *rapid.T, s Suite) Suite {
	if s.NoSharing || s.Config != (netio.Config{}) {
		return s
	}
	s.Config.ThreadSafety = rapid.SampledFrom([]netio.ThreadSafety{netio.Safe, netio.Unsafe}).Draw(rt, "thread safety")
	s.Config.SharedReceive.Buffers = rapid.IntRange(0, 3).Draw(rt, "shared receive buffers")
	s.Config.SharedReceive.BufferBytes = s.MessageBytes
	s.Config.SharedSend.Buffers = max(0, rapid.IntRange(-4, 6).Draw(rt, "shared send buffers"))
	s.Config.SharedSend.BufferBytes = suiteBufferBytes
	return s.withDefaults()
}

func (w *walk) run(rt *rapid.T) {
	actions := map[string]func(*rapid.T){
		"open":            w.open,
		"open again":      w.open, // the names are also how often
		"send":            w.send,
		"send again":      w.send,
		"burst":           w.burst,
		"hold":            w.hold,
		"unhold":          w.unhold,
		"pause":           w.pauseOne,
		"resume":          w.resumeOne,
		"stall":           w.stall,
		"trap":            w.trapOne,
		"close":           w.closeOne,
		"listen or close": w.listenOrClose,
		"settle":          w.settleOne,
		"kill":            w.kill,
	}
	if w.s.Reset != nil {
		actions["reset"] = w.resetOne
	}
	w.open(rt)
	rt.Repeat(actions)
	w.settle(rt)
}

// pick returns a link and one of its ends, now and then of a link that may have
// ended, or skips the action. What it draws depends on the model only and never
// on what has happened, so that a seed repeats its walk.
func (w *walk) pick(rt *rapid.T) (*walkLink, int) {
	from := slices.DeleteFunc(slices.Clone(w.links), func(l *walkLink) bool { return l.over })
	if len(from) < len(w.links) && rapid.IntRange(0, 5).Draw(rt, "also over") == 0 {
		from = w.links[max(0, len(w.links)-4):]
	}
	if len(from) == 0 {
		rt.Skip("nothing is connected")
	}
	l := rapid.SampledFrom(from).Draw(rt, "link")
	w.know(rt, l)
	return l, rapid.IntRange(0, 1).Draw(rt, "end")
}
