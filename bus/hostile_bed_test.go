// SPDX-License-Identifier: Apache-2.0

package bus_test

import (
	"net/netip"
	"runtime"
	"runtime/metrics"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"tagbus/bus"
	"tagbus/internal/testkit"
	"tagbus/internal/testkit/memnet"
	"tagbus/netio"
)

// What one program of a hostile peer may do at most, so that inputs are quick.
const (
	mostOperations = 400
	mostMessages   = 1000      // sent
	mostWireBytes  = 384 << 10 // of these
	mostPublished  = 1 << 12   // by the honest publisher
	mostCalls      = 16        // of one operation, by a program that is not hostile
	mostWaited     = time.Hour // by the fake clock
)

// What must hold whatever a hostile peer does.
const (
	// hostileHeap is by how much the heap may grow while a program runs: what both
	// sides hold of mostWireBytes, several times over, and of 2,048 tags.
	hostileHeap = 32 << 20

	// hostileWaiting is how many functions may wait on the loop: a posted function
	// runs after as many others at most. All members of the bed share one loop.
	hostileWaiting = 64

	// hostileAnswers is how many bytes may wait for a publisher that does not read: what
	// docs/architecture.md says, and the answers to one more message.
	hostileAnswers = 256<<10 + 32<<10

	// hostileEvents is how many entries of events may wait.
	hostileEvents = 1<<14 + 1<<10

	// hostileTurns is how many functions may run on the loop in all.
	hostileTurns = 2_000_000

	hostileSlice = 4 << 10 // the budget of a slice

	// What a slice may take beyond its budget: the parts of jobs that cannot be cut, as
	// one look at the largest set of a program, 8,160 ranges. With a policy a subscriber
	// compares a set three times and passes it once more to ask for it, and the message
	// that causes that may have as many ranges. A subscription to all tags in one piece
	// would be more.
	publisherSlack  = 8 << 10
	subscriberSlack = 40 << 10
)

// watchedLoop is a loop that counts what is posted.
type watchedLoop struct {
	*memnet.Loop
	waiting, most, ran atomic.Int64
}

// Post implements netio.Loop.
func (l *watchedLoop) Post(f func()) bool {
	if n := l.waiting.Add(1); n > l.most.Load() {
		l.most.Store(n)
	}
	return l.Loop.Post(func() {
		l.waiting.Add(-1)
		if l.ran.Add(1) > hostileTurns {
			panic("the loop has no end of work") // nothing else would end the bubble
		}
		f()
	})
}

// hostileBed is a bed in which everything lives on one loop, so that the same
// program does the same again.
type hostileBed struct {
	*bed
	t    *testing.T
	loop *watchedLoop

	// Of the program that runs.
	*program
	operations  int
	messages    int // sent
	wire        int // bytes of these
	waited      time.Duration
	times       int                 // that the next operation is done
	round       int                 // of these times
	mutation    func([]byte) []byte // of the messages of the next operation; nil: none
	mutating    func([]byte) []byte // of those of this one
	heap        int64               // before
	publishable int                 // messages
	access      *site               // nil: everybody may do everything
}

func newHostileBed(t *testing.T, input []byte) *hostileBed {
	h := &hostileBed{bed: newBed(t), t: t, program: &program{left: input}, times: 1, publishable: mostPublished}
	h.loop = &watchedLoop{Loop: memnet.NewLoop()}
	h.heap = heapObjects()
	return h
}

// open returns the Opener of a host of its own.
func (h *hostileBed) opener(host netip.Addr) netio.Opener {
	return h.net.Opener(h.loop, memnet.Config{Host: host, Certificates: h.shows})
}

func (h *hostileBed) newHost() netip.Addr {
	h.host = h.host.Next()
	return h.host
}

// heapObjects returns the bytes of the heap that are in use or not swept yet. It takes
// a microsecond or two.
func heapObjects() int64 {
	s := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	metrics.Read(s)
	return int64(s[0].Value.Uint64())
}

// checkHeap fails the test if the heap has grown by too much.
func (h *hostileBed) checkHeap() {
	if testkit.Race || heapObjects()-h.heap <= hostileHeap {
		return
	}
	runtime.GC()
	if grown := heapObjects() - h.heap; grown > hostileHeap {
		h.t.Errorf("after %d operations and %d messages of %d bytes: the heap has grown by %d bytes, want at most %d",
			h.operations, h.messages, h.wire, grown, hostileHeap)
	}
}

// checkWaiting fails the test if too much waits in a subscriber. Loop only.
func (h *hostileBed) checkWaiting(s *bus.Subscriber) {
	if answers, events := bus.WaitingIn(s); answers > hostileAnswers || events > hostileEvents {
		h.t.Errorf("after %d operations: %d bytes of answers and %d events wait, want at most %d and %d",
			h.operations, answers, events, hostileAnswers, hostileEvents)
	}
}

// checkLoop fails the test if too much has waited on the loop.
func (h *hostileBed) checkLoop() {
	h.t.Helper()
	if most := h.loop.most.Load(); most > hostileWaiting {
		h.t.Errorf("%d functions waited on the loop, want at most %d", most, hostileWaiting)
	}
}

// checkSlices fails the test if a slice of jobs was too long.
func (h *hostileBed) checkSlices(p *bus.Publisher, s *bus.Subscriber) {
	h.t.Helper()
	if _, longest := bus.WorkOf(p); longest > hostileSlice+publisherSlack {
		h.t.Errorf("publisher: got a slice of %d steps, want at most %d", longest, hostileSlice+publisherSlack)
	}
	if _, longest := bus.SubscriberWorkOf(s); longest > hostileSlice+subscriberSlack {
		h.t.Errorf("subscriber: got a slice of %d steps, want at most %d", longest, hostileSlice+subscriberSlack)
	}
}

// run does the operations of the program on the loop, one after another. Between two of
// them everything else on the loop has a turn, or as many turns as the time takes that
// an operation asks for.
//
//   - s: the honest subscriber.
//   - do: does the operation b, and returns how long to wait, 0: one turn.
func (h *hostileBed) run(s *bus.Subscriber, do func(b byte) (wait time.Duration)) {
	done := make(chan struct{})
	var timer netio.Timer
	var step func()
	step = func() {
		if len(h.left) == 0 || h.operations == mostOperations {
			close(done)
			return
		}
		h.operations++
		b := h.operation()
		args, times, mutation := h.args, h.times, h.mutation
		h.times, h.mutation = 1, nil
		var wait time.Duration
		for h.round = range times { // with the same arguments
			h.args, h.mutating = args, mutation
			wait = max(wait, do(b))
		}
		h.mutating = nil
		h.checkHeap()
		h.checkWaiting(s)
		if wait = min(wait, mostWaited-h.waited); wait <= 0 {
			h.loop.Post(step)
			return
		}
		h.waited += wait
		must(h.t, timer.StartOnce(wait))
	}
	timer, err := h.loop.NewTimer(func() { step() })
	must(h.t, err)
	h.loop.Post(step)
	<-done
	must(h.t, timer.Close())
}

// repeat makes the next operation run several times at once.
func (h *hostileBed) repeat() { h.times = 1 + int(h.byte()) }

// mutate damages the messages of the next operation.
func (h *hostileBed) mutate() {
	kind, at, x := h.byte(), int(h.byte()), h.byte()
	h.mutation = func(b []byte) []byte {
		switch b = slices.Clone(b); kind % 5 {
		case 0:
			b = b[:at%len(b)]
		case 1:
			b[at%len(b)] ^= x | 1
		case 2:
			b = append(b, x)
		case 3:
			b[0] = x
		case 4:
			b = slices.Insert(b, at%len(b), x)
		}
		return b
	}
}

// pauses are how long a program can wait.
var pauses = []time.Duration{
	time.Nanosecond, time.Millisecond, 100 * time.Millisecond, time.Second, 3 * time.Second, 6 * time.Second, 12 * time.Second, time.Minute,
}

func (h *hostileBed) pause() time.Duration { return pauses[int(h.byte())%len(pauses)] }
