package bus_test

import (
	"math"
	"net/netip"
	"runtime"
	"runtime/metrics"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"tagbus/bus"
	"tagbus/internal/tests"
	"tagbus/netio"
	"tagbus/netio/memnet"
	"tagbus/subscription"
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
	// one look at the largest set of a program, 8,160 ranges. A subscription to all tags
	// in one piece would be more.
	publisherSlack  = 8 << 10
	subscriberSlack = 24 << 10
)

// operationBytes is what an operation takes of a program: one byte that names it and
// the peer that does it, and its arguments.
const operationBytes = 12

// A program is what hostile peers do: operations, one after another.
type program struct {
	left []byte // of it
	args []byte // not read, of the operation that is done; then they are 0
}

// byPeer is an operation of one of eight hostile peers.
func byPeer(peer int, operation byte, args ...byte) []byte {
	return append(append([]byte{operation | byte(peer)<<5}, args...), make([]byte, operationBytes-1-len(args))...)
}

// operation returns the next operation.
func (p *program) operation() (b byte) {
	n := min(operationBytes, len(p.left))
	b, p.args, p.left = p.left[0], p.left[1:n], p.left[n:]
	return b
}

func (p *program) byte() byte {
	if len(p.args) == 0 {
		return 0
	}
	b := p.args[0]
	p.args = p.args[1:]
	return b
}

// bytes returns the rest of the arguments, so often that they are n bytes.
func (p *program) bytes(n int) (b []byte) {
	for len(b) < n && len(p.args) > 0 {
		b = append(b, p.args[:min(len(p.args), n-len(b))]...)
	}
	return b
}

// number returns a count, a position, an id or a number of a lane: small, or one at
// which something could wrap or is refused.
func (p *program) number() uint64 {
	switch b := p.byte(); b {
	case 0xf0:
		return 1 << 53
	case 0xf1:
		return 1<<53 + 1
	case 0xf2:
		return 1 << 63
	case 0xf3:
		return math.MaxUint64
	case 0xf4:
		return math.MaxUint64 - uint64(p.byte())
	case 0xf5:
		return uint64(p.byte()) << 8
	default:
		return uint64(b)
	}
}

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
}

func newHostileBed(t *testing.T, input []byte) *hostileBed {
	h := &hostileBed{bed: newBed(t), t: t, program: &program{left: input}, times: 1, publishable: mostPublished}
	h.loop = &watchedLoop{Loop: memnet.NewLoop()}
	h.heap = heapObjects()
	return h
}

// open returns the Opener of a host of its own.
func (h *hostileBed) opener(host netip.Addr) netio.Opener {
	return h.net.Opener(h.loop, memnet.Config{Host: host})
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
	if tests.Race || heapObjects()-h.heap <= hostileHeap {
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

// rogue is a peer that does what a program says. Everything runs on the loop.
type rogue struct {
	netio.NopHandler
	h       *hostileBed
	backend netio.Backend
	host    netip.Addr
	ep      netio.Endpoint // nil: none
	dialing bool
	waiting [][]byte // to be sent
	greet   func() [][]byte
	hear    func(data []byte)
}

func (h *hostileBed) rogue(host netip.Addr) *rogue {
	r := &rogue{h: h, host: host, hear: func([]byte) {}}
	var err error
	r.backend, err = h.opener(host)(r)
	must(h.t, err)
	return r
}

// params are those of all endpoints of a rogue.
func (*rogue) params() netio.Params {
	return netio.Params{Receive: netio.ReceiveParams{MaxMessageBytes: 1 << 30}}
}

// OnConnectionEstablished implements netio.Handler.
func (r *rogue) OnConnectionEstablished(ep netio.Endpoint) {
	r.ep, r.dialing = ep, false
	if r.greet != nil {
		r.waiting = slices.Concat(r.greet(), r.waiting)
	}
	r.pump()
}

// OnConnectionRefused implements netio.Handler.
func (r *rogue) OnConnectionRefused(netip.AddrPort, error) { r.dialing, r.waiting = false, nil }

// OnConnectionClosed implements netio.Handler.
func (r *rogue) OnConnectionClosed(ep netio.Endpoint, _ []netio.Key, _ error) {
	if r.ep == ep {
		r.ep, r.waiting = nil, nil
	}
}

// OnData implements netio.Handler.
func (r *rogue) OnData(ep netio.Endpoint, data []byte) {
	if r.ep == ep {
		r.hear(data)
	}
}

// OnSendReady implements netio.Handler.
func (r *rogue) OnSendReady(netio.Endpoint) { r.pump() }

// pump sends what waits.
func (r *rogue) pump() {
	for r.ep != nil && len(r.waiting) > 0 && r.ep.SendCopy(0, nil, r.waiting[0]) == nil {
		r.waiting = r.waiting[1:]
	}
}

// send sends messages as they are, or as the program mutates them.
func (r *rogue) send(messages ...[]byte) {
	for _, b := range messages {
		if r.h.mutating != nil && len(b) > 0 {
			b = r.h.mutating(b)
		}
		if len(b) == 0 || r.ep == nil && !r.dialing || r.h.messages == mostMessages || r.h.wire+len(b) > mostWireBytes {
			continue
		}
		r.h.messages++
		r.h.wire += len(b)
		r.waiting = append(r.waiting, b)
	}
	r.pump()
}

// control sends a control message, unless it cannot be encoded.
func (r *rogue) control(m subscription.Message) {
	if b, err := subscription.Append(nil, m); err == nil {
		r.send(b)
	}
}

// raw sends bytes of the program.
func (r *rogue) raw() { r.send(r.h.bytes(int(r.h.byte()))) }

// disconnect ends the connection.
func (r *rogue) disconnect() {
	if r.ep != nil {
		_ = r.ep.Close()
	}
}

// read resumes or stops reading.
func (r *rogue) read(on bool) {
	switch {
	case r.ep == nil:
	case on:
		r.ep.ResumeReceive()
	default:
		r.ep.PauseReceive()
	}
}

// narrow makes the way to, or from, the rogue hold few bytes, or many again.
func (r *rogue) narrow() {
	b := r.h.byte()
	bytes := 256 << 10
	if b&1 != 0 {
		bytes = 64 + 4*int(b)
	}
	if b&2 != 0 {
		r.h.net.SetWindow(anybody, anyPort(r.host), bytes)
	} else {
		r.h.net.SetWindow(anyPort(r.host), anybody, bytes)
	}
}
