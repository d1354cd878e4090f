package bus_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"tagbus/bus"
	"tagbus/netio"
	"tagbus/subscription"
	"tagbus/tags"
)

// Operations of hostile subscribers. The first byte of an operation is one of these and
// 32 times the number of the peer that does it.
const (
	subConnect = iota // hello
	subSubscribe
	subUnsubscribe
	subPositions
	subMissed
	subReceived
	subGoodbye
	subBeat
	subAck
	subRaw
	subMutate // the next message
	subStop   // reading
	subGoOn
	subDisconnect
	subReset
	subWait
	subPublish
	subRepeat // the next operation
	subTags
	subNarrow
	subWrong // what only a publisher says
	subOperations
)

const (
	hostileKnown  = 2048 // tags that the publisher has used
	hostileStrict = 512  // of these: the first ones, of an honest subscription with Block
)

// rogueSubscribers are eight hostile subscribers, and honest ones that they must not
// disturb.
type rogueSubscribers struct {
	*hostileBed
	p            *honest
	s            *bus.Subscriber
	rogues       [8]*rogue
	strict, lax  *judge
	base         []uint64 // published before anything was subscribed to
	baseAccepted uint64
	trouble      []string // what the honest have been told that they should not have been
}

func newRogueSubscribers(t *testing.T, input []byte) *rogueSubscribers {
	x := &rogueSubscribers{hostileBed: newHostileBed(t, input)}
	x.p = x.honest(hostileKnown, x.onPublisherEvent)
	x.strict = &judge{counters: make(map[tags.Tag]uint64)}
	x.lax = &judge{counters: make(map[tags.Tag]uint64)}
	var err error
	x.s, err = bus.NewSubscriber(x.opener(x.newHost()), x.dir, bus.SubscriberConfig{OnEvent: x.onSubscriberEvent})
	must(t, err)
	strict, err := x.s.Subscribe(tagRange(t, 0, hostileStrict-1), x.strict.handle)
	must(t, err)
	lax, err := x.s.SubscribeWith(tagRange(t, hostileStrict, hostileKnown-1), func(bus.Message) { x.lax.messages++ },
		bus.SubscriptionConfig{Policy: bus.Policy{Kind: bus.DropNewest}})
	must(t, err)
	must(t, strict.Wait(t.Context()))
	must(t, lax.Wait(t.Context()))
	x.base, x.baseAccepted = slices.Clone(x.p.published), x.p.accepted
	host := x.newHost()
	for i := range x.rogues {
		x.rogues[i] = x.rogue(host)
	}
	return x
}

func (x *rogueSubscribers) onPublisherEvent(e bus.Event) {
	if x.s != nil && e.Peer != nil && e.Peer.Instance == x.s.Instance() && (e.Kind == bus.Lost || e.Kind == bus.Refused) {
		x.trouble = append(x.trouble, "publisher: "+e.String())
	}
}

func (x *rogueSubscribers) onSubscriberEvent(e bus.Event) {
	switch {
	case e.Kind == bus.Gap && e.Tag < hostileStrict, e.Kind == bus.Lost, e.Kind == bus.Vanished, e.Kind == bus.Refused, e.Kind == bus.Problem:
		x.trouble = append(x.trouble, "subscriber: "+e.String())
	}
}

// policies that hostile subscribers ask for.
var hostilePolicies = []string{
	"", "drop-newest", "drop-oldest", "latest", "sample:1", "sample:7", "sample:18446744073709551615", "disconnect:1ms",
	"disconnect:3s", "disconnect:2562047h", "disconnect:1ns", "sample:0", "best", "block", "disconnect:40ms", "disconnect:5s",
}

// do does an operation.
func (x *rogueSubscribers) do(b byte) time.Duration {
	r := x.rogues[b>>5]
	switch b & 31 % subOperations {
	case subConnect:
		x.connect(r, int(b>>5))
	case subSubscribe:
		x.subscribe(r)
	case subUnsubscribe:
		r.control(&subscription.Unsubscribe{ID: x.number()})
	case subPositions:
		r.control(&subscription.Positions{ID: x.number(), List: x.list()})
	case subMissed:
		r.control(&subscription.Missed{Lane: uint16(x.number()), Cause: subscription.Cause(1 + x.byte()%4), List: x.list()})
	case subReceived:
		r.control(&subscription.Received{Lane: uint16(x.number()), Messages: x.number()})
	case subGoodbye:
		r.control(&subscription.Goodbye{})
	case subBeat:
		r.control(&subscription.Beat{})
	case subAck:
		r.control(&subscription.Ack{Tag: x.number(), Position: x.number(), Failed: x.byte()&1 != 0})
	case subRaw:
		r.raw()
	case subMutate:
		x.mutate()
	case subStop:
		r.read(false)
	case subGoOn:
		r.read(true)
	case subDisconnect:
		r.disconnect()
	case subReset:
		if r.ep != nil {
			x.net.Reset(r.ep.Local(), r.ep.Remote())
		}
	case subWait:
		return x.pause()
	case subPublish:
		x.p.burst(hostileKnown)
	case subRepeat:
		x.repeat()
	case subTags:
		x.changeTags()
	case subNarrow:
		r.narrow()
	case subWrong:
		x.wrong(r)
	}
	return 0
}

// connect connects with a hello, or says another one on the connection there is.
func (x *rogueSubscribers) connect(r *rogue, peer int) {
	kind, beats := x.byte(), x.byte()
	h := subscription.Hello{Instance: fmt.Sprint("rogue ", peer), MaxMessageBytes: 1 << 30, BeatMillis: int(beats) * 10}
	switch kind % 8 {
	case 1:
		h.Instance = "rogue" // of all
	case 2:
		h.Instance = fmt.Sprint("rogue ", x.round, " ", x.operations)
	case 3:
		h.Expect = "another"
	case 4:
		h.Role = subscription.RoleSender
	case 5:
		h.MaxMessageBytes = int(beats)
	}
	b, err := subscription.AppendHello(nil, h)
	must(x.t, err)
	switch kind % 8 {
	case 6:
		b = otherVersion(b)
	case 7:
		b = nil // silence
	}
	if r.ep == nil && !r.dialing {
		r.dialing = r.backend.OpenEndpoint(x.p.Addr(), r.params()) == nil
	}
	if b != nil {
		r.send(b)
	}
}

// subscribe sends the parts of a subscription.
func (x *rogueSubscribers) subscribe(r *rogue) {
	m := subscription.Subscribe{ID: x.number()}
	lane, flags := x.byte(), x.byte()
	m.Lane, m.Policy = uint16(lane>>4), hostilePolicies[lane&15]
	if flags&1 != 0 {
		m.ID += uint64(x.round)
	}
	if flags&2 != 0 {
		m.Lane += uint16(x.round)
	}
	m.Resume, m.WithNext = flags&4 != 0, flags&8 != 0
	unfinished := flags&16 != 0
	if flags&32 != 0 {
		m.Replay = x.number()
	}
	if flags&64 != 0 {
		m.BacklogBytes = x.number()
	}
	if flags&128 != 0 && m.Policy == "disconnect:3s" {
		m.Policy = fmt.Sprintf("disconnect:%dms", 3000-10*x.round) // a little shorter than the last
	}
	if x.wire >= mostWireBytes || x.messages == mostMessages || r.ep == nil && !r.dialing {
		return
	}
	set := x.set()
	for chunk := range slices.Chunk(set, 16<<10-256) {
		set = set[len(chunk):]
		part := m
		part.Set, part.More = chunk, len(set) > 0 || unfinished
		part.WithNext = m.WithNext && !part.More
		r.control(&part)
	}
}

// changeTags makes the honest publisher stop serving a tag, or serve it again.
func (x *rogueSubscribers) changeTags() {
	first, add := tags.Tag(x.byte())*8, x.byte()&1 != 0
	set, err := tags.Range(hostileKnown/2+first, hostileKnown/2+first+63)
	must(x.t, err)
	if add {
		_ = x.p.AddTags(set)
	} else {
		_ = x.p.RemoveTags(set)
	}
}

// wrong says what a subscriber does not.
func (x *rogueSubscribers) wrong(r *rogue) {
	switch x.byte() % 5 {
	case 0:
		r.control(&subscription.Subscribed{ID: x.number()})
	case 1:
		r.control(&subscription.Refused{ID: x.number(), Reason: "no"})
	case 2:
		r.control(&subscription.Lost{Cause: 1, List: x.list()})
	case 3:
		r.control(&subscription.Goodbye{List: x.list()})
	case 4:
		r.send([]byte{1, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0x80, 1, 0, 0, 0, 0, 0, 0, 0, 'x'})
	}
}

// checkAll checks what must hold when the program has ended.
func (x *rogueSubscribers) checkAll() {
	t := x.t
	t.Helper()
	// A new subscriber gets in, whatever the others do.
	late, lateSubscriber := x.comeLate()
	lateBase := slices.Clone(x.p.published)
	for _, r := range x.rogues {
		_ = r.backend.Close()
	}
	time.Sleep(3 * time.Second)
	for tag := range tags.Tag(hostileStrict) {
		if tag%37 == 0 {
			x.p.last(tag)
		}
	}
	x.p.Flush()
	time.Sleep(2 * time.Second) // and what is told once a second
	synctest.Wait()
	x.checkHeap()
	x.strict.check(x.p, "honest subscriber", 0, hostileStrict-1, x.base)
	late.check(x.p, "late subscriber", 0, hostileStrict-1, lateBase)
	x.checkLax()
	if len(x.trouble) > 0 {
		t.Errorf("%d events of the honest, as %.500q", len(x.trouble), x.trouble[0])
	}
	x.checkRest()
	must(t, lateSubscriber.Close())
	must(t, x.s.Close())
	must(t, x.p.Close())
	if v := x.net.Violations(); len(v) > 0 {
		t.Errorf("memory changed while it was sent: %q", v)
	}
	x.loop.Close()
}

// comeLate subscribes with a subscriber that was not there before.
func (x *rogueSubscribers) comeLate() (*judge, *bus.Subscriber) {
	x.t.Helper()
	late := &judge{counters: make(map[tags.Tag]uint64)}
	s, err := bus.NewSubscriber(x.opener(x.newHost()), x.dir, bus.SubscriberConfig{})
	must(x.t, err)
	sub, err := s.Subscribe(tagRange(x.t, 0, hostileStrict-1), late.handle)
	must(x.t, err)
	ctx, cancel := context.WithTimeout(x.t.Context(), time.Minute)
	defer cancel()
	if err := sub.Wait(ctx); err != nil {
		x.t.Errorf("an honest subscriber that comes late is not served: %v", err)
	}
	return late, s
}

// checkLax checks that what was published for both subscriptions was received or
// reported.
func (x *rogueSubscribers) checkLax() {
	x.t.Helper()
	st := x.s.Stats()
	if got, want := x.strict.messages+x.lax.messages+st.Lost, x.p.accepted-x.baseAccepted; got != want {
		x.t.Errorf("%d messages received or lost, want the %d that were published: %+v", got, want, st)
	}
	if st.Publishers != 1 {
		x.t.Errorf("got %d connections of the honest subscriber, want 1", st.Publishers)
	}
}

// checkRest checks that nothing is left of those that are gone.
func (x *rogueSubscribers) checkRest() {
	t := x.t
	t.Helper()
	x.checkSlices(x.p.Publisher, x.s)
	x.checkLoop()
	if got, want := bus.HeldOf(x.p.Publisher), (bus.Held{Connections: 2, Lanes: 3, Seats: 2}); got != want {
		t.Errorf("the publisher holds %+v, want %+v", got, want)
	}
	if routes, streams, shared := bus.RoutesOf(x.p.Publisher); routes > 4 || streams > 5 {
		t.Errorf("got %d routes and %d streams, %d of them shared, want at most 4 and 5", routes, streams, shared)
	}
	if st := x.p.Stats(); st.Pages != st.PagesFree {
		t.Errorf("got %d of %d pages free", st.PagesFree, st.Pages)
	}
}

// FuzzHostileSubscriber runs several hostile subscribers by the input, against a
// publisher of 2,048 used tags with a cache, a subscriber with two policies, and one
// that comes while the hostile ones are there. What must hold: nothing panics; all that
// is published reaches the honest ones, in order, each message once, and what their
// policy loses is counted; they are not disconnected; no slice of work and no queue of
// the loop is longer than it may be; the heap stays bounded; nothing is left of those
// that have gone.
func FuzzHostileSubscriber(f *testing.F) {
	for _, seed := range hostileSubscriberSeeds() {
		f.Add(slices.Concat(seed...))
	}
	f.Fuzz(func(t *testing.T, input []byte) {
		if len(input) > mostOperations*operationBytes {
			t.Skip("longer than a program is")
		}
		t.Cleanup(bus.SetSliceSteps(hostileSlice))
		synctest.Test(t, func(t *testing.T) {
			x := newRogueSubscribers(t, input)
			x.run(x.s, x.do)
			x.checkAll()
		})
	})
}

var _ netio.Handler = (*rogue)(nil)

// hostileSubscriberSeeds are programs for the rows of issue 12.
func hostileSubscriberSeeds() [][][]byte {
	const all, everything, halves, someMasks, tooMany, endlessHead, allowedHead = 1, 3, 9, 6, 7, 10, 11
	seeds := [][][]byte{
		{ // 1: drop-newest at full speed
			byPeer(0, subConnect), byPeer(0, subWait), byPeer(0, subSubscribe, 1, 1, 0, all, 0, 255), byPeer(0, subWait), byPeer(0, subStop),
			byPeer(0, subRepeat, 30), byPeer(0, subPublish, 64, 255, 1), byPeer(0, subWait, 3), byPeer(0, subGoOn), byPeer(0, subWait, 3),
		},
		{ // 2: subscribe and unsubscribe in a loop, without a look at the answers
			byPeer(0, subConnect), byPeer(0, subWait), byPeer(0, subStop),
			byPeer(0, subRepeat, 99), byPeer(0, subSubscribe, 1, 0, 1, all, 0, 255), byPeer(0, subRepeat, 99), byPeer(0, subUnsubscribe, 1),
			byPeer(0, subRepeat, 255), byPeer(0, subSubscribe, 1, 0, 0, 4, 0, 64), byPeer(0, subWait, 3),
		},
		{ // 3: random halves
			byPeer(0, subConnect), byPeer(1, subConnect), byPeer(2, subConnect), byPeer(0, subWait),
			byPeer(0, subSubscribe, 1, 0, 0, halves, 3, 127), byPeer(1, subSubscribe, 1, 0, 0, halves, 5, 127), byPeer(2, subSubscribe, 1, 0, 0, halves, 7, 127),
			byPeer(0, subPublish, 0, 255, 9), byPeer(0, subWait, 2),
		},
		{ // 5: disconnect limits that shrink
			byPeer(0, subConnect), byPeer(0, subWait), byPeer(0, subRepeat, 15), byPeer(0, subSubscribe, 1, 8, 1|2|128, 0, 200, 0),
			byPeer(0, subWait, 5), byPeer(1, subConnect), byPeer(1, subWait), byPeer(1, subSubscribe, 1, 7, 0, 0, 9, 0), byPeer(1, subStop),
			byPeer(1, subPublish, 1, 200, 0), byPeer(1, subWait, 4),
		},
		{ // 7: masks that change
			byPeer(0, subConnect), byPeer(0, subWait), byPeer(0, subRepeat, 40), byPeer(0, subSubscribe, 1, 0, 0, someMasks, 0, 255),
			byPeer(0, subWait), byPeer(0, subSubscribe, 2, 0, 0, tooMany, 0, 9), byPeer(0, subWait, 3),
		},
		{ // 8: sets that never end
			byPeer(0, subConnect), byPeer(1, subConnect), byPeer(0, subWait), byPeer(0, subSubscribe, 1, 0, 16, allowedHead, 255, 0),
			byPeer(1, subSubscribe, 1, 0, 16, endlessHead, 255, 30), byPeer(0, subRepeat, 50), byPeer(0, subSubscribe, 1, 0, 16, 12, 0, 3, 0, 0, 0),
			byPeer(0, subWait, 6), byPeer(0, subWait, 3),
		},
		{ // 9: hello, and nothing else
			byPeer(0, subConnect), byPeer(1, subConnect), byPeer(2, subConnect), byPeer(3, subConnect), byPeer(4, subConnect), byPeer(5, subConnect),
			byPeer(6, subConnect), byPeer(7, subConnect, 7), byPeer(0, subWait),
		},
		{ // 10: positions again and again
			byPeer(0, subConnect), byPeer(0, subWait), byPeer(0, subStop), byPeer(0, subRepeat, 100), byPeer(0, subPositions, 1, 1, 0, 255, 1),
			byPeer(0, subSubscribe, 1, 0, 4, all, 0, 255), byPeer(0, subWait, 3),
		},
		{ // 11: forged losses and receipts
			byPeer(0, subConnect), byPeer(0, subSubscribe, 1, 0, 0, all, 0, 255), byPeer(0, subMissed, 0, 3, 0, 5, 0, 0xf2), byPeer(0, subWait, 1),
			byPeer(1, subConnect), byPeer(1, subSubscribe, 1, 0, 0, all, 0, 255), byPeer(1, subReceived, 0, 0xf0), byPeer(1, subReceived, 0, 0xf3), byPeer(1, subWait, 1),
			byPeer(2, subConnect), byPeer(2, subPositions, 1, 0, 5, 0, 0xf3), byPeer(2, subSubscribe, 1, 0, 4, all, 0, 255), byPeer(2, subWait, 1),
			byPeer(3, subConnect), byPeer(3, subSubscribe, 1, 0, 0, all, 0, 255), byPeer(3, subRepeat, 99), byPeer(3, subMissed, 0, 3, 1, 0, 255, 1), byPeer(3, subWait, 1),
		},
	}
	lanes := [][]byte{} // 12: one instance with other lanes again and again
	for round := range byte(12) {
		lanes = append(lanes, byPeer(0, subConnect, 1), byPeer(0, subRepeat, 15), byPeer(0, subSubscribe, 1, round<<4|round, 1|2, 0, round, 0),
			byPeer(0, subMissed, round, 3, 0, 1, 0, 1), byPeer(0, subWait), byPeer(0, subDisconnect), byPeer(0, subWait))
	}
	return append(seeds, lanes,
		[][]byte{ // a connection that ends in the middle of its subscription, and comes back
			byPeer(0, subConnect), byPeer(0, subWait), byPeer(0, subSubscribe, 1, 0, 32, everything, 0, 0, 9), byPeer(0, subReset),
			byPeer(0, subConnect), byPeer(0, subPositions, 1, 1, 0, 255, 1), byPeer(0, subSubscribe, 1, 0, 4, everything), byPeer(0, subPublish, 0, 99, 3),
			byPeer(0, subWait, 2), byPeer(0, subTags, 3, 0), byPeer(0, subWait, 2), byPeer(0, subTags, 3, 1), byPeer(0, subGoodbye),
		},
		[][]byte{ // damage
			byPeer(0, subConnect), byPeer(0, subMutate, 0, 9, 0), byPeer(0, subSubscribe, 1, 0, 0, all, 0, 9), byPeer(0, subWait),
			byPeer(1, subConnect), byPeer(1, subRaw, 5, 1, 2, 3, 4, 5), byPeer(1, subWait), byPeer(2, subConnect, 6), byPeer(3, subConnect, 3),
			byPeer(4, subConnect), byPeer(4, subWrong, 4), byPeer(5, subNarrow, 3), byPeer(5, subConnect), byPeer(5, subSubscribe, 1, 0, 0, all, 0, 255), byPeer(5, subDisconnect),
		})
}
