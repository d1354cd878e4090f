// SPDX-License-Identifier: Apache-2.0

package bus_test

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"tagbus/bus"
	"tagbus/bus/observer"
	"tagbus/bus/state"
	"tagbus/netio"
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
	subObserve
	subDescribe
	subDenied
	subPolicy
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

func newRogueSubscribers(t *testing.T, input []byte, limited bool) *rogueSubscribers {
	x := &rogueSubscribers{hostileBed: newHostileBed(t, input)}
	if limited {
		x.limit()
	}
	x.p = x.honest(hostileKnown, x.onPublisherEvent)
	x.strict = &judge{counters: make(map[tags.Tag]uint64)}
	x.lax = &judge{counters: make(map[tags.Tag]uint64)}
	access := x.as("cn:honest")
	var err error
	x.s, err = bus.NewSubscriber(x.opener(x.newHost()), x.dir, bus.SubscriberConfig{Common: bus.Common{OnEvent: x.onSubscriberEvent, Access: access}})
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
	x.as("cn:rogue")
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

// checkAll checks what must hold when the program has ended.
func (x *rogueSubscribers) checkAll() {
	t := x.t
	t.Helper()
	// A new subscriber gets in, whatever the others do.
	late, lateSubscriber := x.comeLate()
	lateBase := slices.Clone(x.p.published)
	x.observe()
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
	access := x.as("cn:honest")
	s, err := bus.NewSubscriber(x.opener(x.newHost()), x.dir, bus.SubscriberConfig{Common: bus.Common{Access: access}})
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

// observe asks the honest publisher for its state.
func (x *rogueSubscribers) observe() {
	x.t.Helper()
	x.as("cn:honest")
	o, err := observer.New(x.opener(x.newHost()), observer.Config{})
	must(x.t, err)
	s, err := o.Ask(x.t.Context(), x.entry(x.p.Instance()), state.Question{Peers: state.MaxPeers, Busiest: state.MaxTags})
	if err != nil || s.Instance != x.p.Instance() || s.Connected < 2 {
		x.t.Errorf("an honest observer gets the state of %q with %d peers, and error %v", s.Instance, s.Connected, err)
	}
	must(x.t, o.Close())
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
// that have gone. The hostile ones may be observers, and an honest one asks beside them.
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
			x := newRogueSubscribers(t, input, false)
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
			byPeer(0, subMissed, round, 128, 1, 0, 1, 0, 1), byPeer(0, subMissed, round, 3, 0, 1, 0, 1), byPeer(0, subWait), byPeer(0, subDisconnect), byPeer(0, subWait))
	}
	return append(seeds, lanes,
		[][]byte{ // observers: one that does not read, one that asks too often, a subscriber that asks, one that subscribes
			byPeer(0, subObserve), byPeer(0, subWait), byPeer(0, subStop), byPeer(0, subDescribe, 1, 0xf5, 255, 0xf5, 255, all, 0, 255), byPeer(0, subWait, 2),
			byPeer(1, subObserve), byPeer(1, subWait), byPeer(1, subRepeat, 99), byPeer(1, subDescribe, 1, 1, 1, 0), byPeer(1, subWait, 1),
			byPeer(2, subConnect), byPeer(2, subWait), byPeer(2, subDescribe, 1), byPeer(3, subObserve), byPeer(3, subWait), byPeer(3, subSubscribe, 1, 0, 0, all, 0, 9),
			byPeer(4, subObserve), byPeer(4, subDescribe, 0xf3, 0, 0, endlessHead, 255, 30), byPeer(4, subWait, 1), byPeer(4, subDescribe, 2, 9, 9, tooMany, 0, 9),
			byPeer(5, subObserve), byPeer(5, subMutate, 0, 9, 0), byPeer(5, subDescribe, 1), byPeer(6, subObserve, 3), byPeer(7, subObserve, 5, 1), byPeer(0, subWait, 3),
			byPeer(6, subObserve), byPeer(6, subDescribe, 1, 9, 9), byPeer(6, subDisconnect), byPeer(0, subWait, 6), byPeer(0, subWait, 6), byPeer(0, subGoOn),
		},
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
