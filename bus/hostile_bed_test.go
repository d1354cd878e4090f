package bus_test

import (
	"encoding/binary"
	"fmt"
	"math"
	"net/netip"
	"runtime"
	"runtime/metrics"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"tagbus/bus"
	"tagbus/netio"
	"tagbus/netio/netiotest"
	"tagbus/subscription"
	"tagbus/tags"
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
	// docs/architecture.md says, and what one more message is answered.
	hostileAnswers = 256<<10 + 32<<10

	// hostileEvents is how many entries may wait to be told.
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
	*netiotest.Loop
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
	h.loop = &watchedLoop{Loop: netiotest.NewLoop()}
	h.heap = heapObjects()
	return h
}

// open returns the Opener of a host of its own.
func (h *hostileBed) opener(host netip.Addr) netio.Opener {
	return h.net.Opener(h.loop, netiotest.Config{Host: host})
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
	if underRace || heapObjects()-h.heap <= hostileHeap {
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

// run has the operations of the program done on the loop, one after another. Between
// two of them everything else on the loop has a turn; and when one is to be waited
// for, all that the loop has to do until then.
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

// repeat has the next operation done several times at once.
func (h *hostileBed) repeat() { h.times = 1 + int(h.byte()) }

// mutate has the messages of the next operation damaged.
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

// send sends messages as they are, or as the program has them mutated.
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

// control sends a control message, unless there is no way to say it.
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

// read goes on, or ceases to read.
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

// list returns positions, or counts.
func (h *hostileBed) list() []byte {
	kind, first, n, count := h.byte(), h.byte(), int(h.byte()), h.number()
	tag, step := tags.Tag(first), tags.Tag(1)
	switch kind % 6 {
	case 0:
		n = 1
	case 1:
		n *= 8 // up to 2,040 known tags
	case 2: // unknown ones
		tag, n = tags.Tag(first)<<32, n*8
	case 3: // up to the last
		tag = tags.MaxTag - tags.Tag(n)
	case 4: // not the same again
		tag += tags.Tag(h.round) << 8
	case 5:
		return h.bytes(n) // damaged
	}
	var list []byte
	prev := tags.Tag(0)
	for i := range n {
		at := tag + step*tags.Tag(i)
		if len(list) > subscription.MaxControlBytes-128 || i > 0 && at <= prev {
			break
		}
		list = subscription.AppendPosition(list, prev, subscription.Position{Tag: at, Count: count + uint64(h.round)*uint64(kind>>7)})
		prev = at
	}
	return list
}

// set returns the binary form of a set, or what is none.
func (h *hostileBed) set() []byte {
	kind, a, n := h.byte(), h.byte(), int(h.byte())
	var set tags.Set
	switch kind % 14 {
	case 0:
		set = tags.Of(tags.Tag(a) + tags.Tag(h.round))
	case 1:
		set, _ = tags.Range(tags.Tag(a), tags.Tag(a)+tags.Tag(n)*8)
	case 2: // not the same again
		set, _ = tags.Range(tags.Tag(a)+tags.Tag(h.round)*8, tags.Tag(a)+tags.Tag(n)*8+tags.Tag(h.round)*8)
	case 3:
		set, _ = tags.Range(0, tags.MaxTag)
	case 4: // all that are known, range by range
		set = everySecond(n*4, tags.Tag(a+byte(h.round))&1)
	case 5: // many that are not
		set = everySecond(n*32, tags.Tag(a+byte(h.round))&1)
	case 6:
		set = masks(n, int(a)+h.round)
	case 7: // more masks than are allowed
		set = masks(256+n, int(a)+h.round)
	case 8:
		set = tags.Match(tags.Tag(a)+tags.Tag(h.round)&1, tags.Tag(a)|1)
	case 9: // a random half
		var list []tags.Tag
		for tag := range 16 * n {
			if (tag*int(a|1)+h.round)>>3&1 == 1 {
				list = append(list, tags.Tag(tag))
			}
		}
		set = tags.Of(list...)
	case 10: // the head of very many ranges
		head, part := endless(uint64(n+1) << 16)
		return append(head, part[:int(a)*16]...)
	case 11: // the head of as many as are allowed
		head, part := endless(subscription.MaxParts)
		return append(head, part[:int(a)*32]...)
	case 12:
		return h.bytes(n)
	case 13: // none
	}
	b, err := set.MarshalBinary()
	must(h.t, err)
	return b
}

// everySecond returns n ranges of one tag.
func everySecond(n int, first tags.Tag) tags.Set {
	list := make([]tags.Tag, n)
	for i := range list {
		list[i] = first + 2*tags.Tag(i)
	}
	return tags.Of(list...)
}

// hostilePayload is what the honest publisher sends.
func hostilePayload(tag tags.Tag, counter uint64) []byte {
	return binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint64(nil, uint64(tag)), counter)
}

// honest is the publisher that is to be served, and what it has published.
type honest struct {
	h *hostileBed
	*bus.Publisher
	published []uint64 // by tag
	accepted  uint64
}

// honest opens a publisher that has published each of the tags below known once.
func (h *hostileBed) honest(known int, onEvent func(bus.Event)) *honest {
	set, err := tags.Range(0, tags.Tag(known-1))
	must(h.t, err)
	p, err := bus.NewPublisher(h.opener(h.newHost()), h.dir, bus.PublisherConfig{
		Tags: set, Listen: anyPort(h.host), PageBytes: 1 << 10, MaxMessageBytes: 900, QueueBytes: 16 << 10, PoolBytes: 4 << 20,
		CacheMessages: 4, CacheBytes: 128 << 10, MaxStreams: 16, MaxSubscribers: 8, MaxSubscribersPerHost: 6,
		MaxStall: 10 * time.Second, OnEvent: onEvent,
	})
	must(h.t, err)
	x := &honest{h: h, Publisher: p, published: make([]uint64, known)}
	for tag := range tags.Tag(known) {
		if err := x.publish(tag); err != nil {
			h.t.Fatal(err)
		}
	}
	h.publishable = mostPublished
	return x
}

// publish publishes a message, if the publisher takes it.
func (x *honest) publish(tag tags.Tag) error {
	if x.h.publishable == 0 {
		return bus.ErrNoResources
	}
	x.h.publishable--
	err := x.Publish(tag, hostilePayload(tag, x.published[tag]+1))
	if err == nil {
		x.published[tag]++
		x.accepted++
	}
	return err
}

// burst publishes as the program says.
func (x *honest) burst(known int) {
	first, n, step := int(x.h.byte())*8, int(x.h.byte()), int(x.h.byte())
	for i := range n {
		_ = x.publish(tags.Tag((first + i*step) % known))
	}
}

// last publishes a message of a tag, for which there has to be room soon.
func (x *honest) last(tag tags.Tag) {
	x.h.t.Helper()
	x.h.publishable = max(x.h.publishable, 1000)
	var err error
	for range 100 {
		if err = x.publish(tag); err == nil {
			x.Flush()
			return
		}
		time.Sleep(100 * time.Millisecond)
	}
	x.h.t.Errorf("tag %v cannot be published: %v", tag, err)
}

// judge is what an honest subscriber receives of the honest publisher.
type judge struct {
	from     func() string // the instance of the publisher
	counters map[tags.Tag]uint64
	messages uint64
	wrong    string // the first that was
}

func (j *judge) handle(m bus.Message) {
	if j.from != nil && m.Publisher.Instance != j.from() {
		return
	}
	j.messages++
	before, known := j.counters[m.Tag]
	switch {
	case j.wrong != "":
	case known && m.Counter != before+1:
		j.wrong = fmt.Sprintf("tag %v: message %d after %d", m.Tag, m.Counter, before)
	case string(m.Data) != string(hostilePayload(m.Tag, m.Counter)):
		j.wrong = fmt.Sprintf("tag %v: message %d is %x", m.Tag, m.Counter, m.Data)
	}
	j.counters[m.Tag] = m.Counter
}

// check fails the test if not all has come that was published of the tags from lo to
// hi after what was published before.
func (j *judge) check(x *honest, who string, lo, hi tags.Tag, before []uint64) {
	x.h.t.Helper()
	if j.wrong != "" {
		x.h.t.Errorf("%s: %s", who, j.wrong)
	}
	var want uint64
	for tag := lo; tag <= hi; tag++ {
		n := x.published[tag]
		if n == before[tag] {
			continue
		}
		want += n - before[tag]
		if got := j.counters[tag]; got != n {
			x.h.t.Errorf("%s: got tag %v up to message %d, want %d", who, tag, got, n)
			return
		}
	}
	if j.messages != want {
		x.h.t.Errorf("%s: got %d messages, want %d", who, j.messages, want)
	}
}
