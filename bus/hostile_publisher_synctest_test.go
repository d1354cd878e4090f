package bus_test

import (
	"context"
	"encoding/binary"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"tagbus/bus"
	"tagbus/bus/directory"
	"tagbus/netio"
	"tagbus/subscription"
	"tagbus/tags"
)

// Operations of hostile publishers. The first byte of an operation is one of these and
// 32 times the number of the peer that does it.
const (
	pubAnnounce = iota // or change the entry
	pubWithdraw
	pubGreet      // what is said first on connections to come
	pubObey       // answer each request as it should be, or none
	pubSubscribed // with the id of a request, or any
	pubUnsubscribed
	pubPositions
	pubLost
	pubRefused
	pubGoodbye
	pubBeat
	pubPage
	pubRaw
	pubMutate // the next message
	pubStop   // reading
	pubGoOn
	pubDisconnect
	pubReset
	pubWait
	pubPublish
	pubRepeat // the next operation
	pubChange // what the subscriber wants
	pubStats
	pubNarrow
	pubWrong // what only a subscriber says
	pubOperations
)

const hostileRogues = 4 // of a program, that publish

// roguePublishers are hostile publishers of tags that an honest one serves too, and of
// others, and the subscriber that wants them all.
type roguePublishers struct {
	*hostileBed
	p       *honest
	s       *bus.Subscriber
	rogues  [hostileRogues]*roguePublisher
	strict  *judge
	base    []uint64
	changed *bus.Subscription // by the program
	asked   int               // for statistics
	trouble []string          // what was told of the honest one that should not have been
}

// roguePublisher is one of them.
type roguePublisher struct {
	*rogue
	instance string
	at       netip.AddrPort
	entry    directory.Registration // nil: none
	greeting byte
	obeys    bool
	ids      []uint64 // of the requests on this connection
}

func newRoguePublishers(t *testing.T, input []byte) *roguePublishers {
	x := &roguePublishers{hostileBed: newHostileBed(t, input)}
	x.p = x.honest(hostileStrict, func(e bus.Event) {
		if e.Kind == bus.Lost || e.Kind == bus.Refused {
			x.trouble = append(x.trouble, "publisher: "+e.String())
		}
	})
	x.strict = &judge{from: x.p.Instance, counters: make(map[tags.Tag]uint64)}
	x.base = slices.Clone(x.p.published)
	for i := range x.rogues {
		x.rogues[i] = x.newRoguePublisher(i)
	}
	var err error
	x.s, err = bus.NewSubscriber(x.opener(x.newHost()), x.dir, bus.SubscriberConfig{
		OnEvent: x.onSubscriberEvent, MaxMessageBytes: 64 << 10, ReconnectMax: time.Second,
	})
	must(t, err)
	strict, err := x.s.Subscribe(tagRange(t, 0, hostileKnown-1), x.strict.handle)
	must(t, err)
	_, err = x.s.SubscribeWith(tagRange(t, hostileStrict, 4*hostileKnown), ignore, bus.SubscriptionConfig{Policy: bus.Policy{Kind: bus.Latest}})
	must(t, err)
	must(t, strict.Wait(t.Context()))
	x.change(0, tags.Of(1<<20))
	return x
}

func (x *roguePublishers) newRoguePublisher(i int) *roguePublisher {
	r := &roguePublisher{rogue: x.rogue(x.newHost()), instance: fmt.Sprint("rogue-", i)}
	listen, err := r.backend.OpenListenEndpoint(anyPort(r.host), r.params())
	must(x.t, err)
	r.at = listen.Addr()
	r.greet = func() [][]byte { return r.hello(x.t) }
	r.hear = r.request
	return r
}

func (x *roguePublishers) onSubscriberEvent(e bus.Event) {
	if e.Peer == nil || e.Peer.Instance != x.p.Instance() {
		return
	}
	switch e.Kind {
	case bus.Gap, bus.Lost, bus.Vanished, bus.Refused, bus.Problem:
		x.trouble = append(x.trouble, "subscriber: "+e.String())
	default:
	}
}

// hello is what a rogue says first.
func (r *roguePublisher) hello(t *testing.T) [][]byte {
	r.ids = nil
	h := subscription.Hello{Instance: r.instance, MaxMessageBytes: 1 << 14, BeatMillis: int(r.greeting>>4) * 100}
	switch r.greeting & 7 {
	case 1:
		h.Instance = "another"
	case 2:
		h.Role = subscription.RoleReceiver
	case 3:
		return nil
	case 4:
		b, err := subscription.Append(nil, &subscription.Refused{Reason: "full \x1b[2J\n"})
		must(t, err)
		return [][]byte{b}
	}
	b, err := subscription.AppendHello(nil, h)
	must(t, err)
	switch r.greeting & 7 {
	case 5:
		return [][]byte{otherVersion(b)}
	case 6:
		return [][]byte{b[:len(b)-1]}
	case 7:
		return [][]byte{b, b}
	}
	return [][]byte{b}
}

// request hears what the subscriber says.
func (r *roguePublisher) request(data []byte) {
	m, err := subscription.Decode(data)
	if err != nil {
		return // the hello
	}
	var answer subscription.Message
	switch m := m.(type) {
	case *subscription.Subscribe:
		if m.More {
			return
		}
		r.ids = append(r.ids, m.ID)
		answer = &subscription.Subscribed{ID: m.ID}
	case *subscription.Unsubscribe:
		r.ids = append(r.ids, m.ID)
		answer = &subscription.Unsubscribed{ID: m.ID}
	}
	if r.obeys && answer != nil {
		r.control(answer)
	}
}

// id returns one that the subscriber has used, or any.
func (r *roguePublisher) id() uint64 {
	n := r.h.number()
	if n < 128 && len(r.ids) > 0 {
		return r.ids[int(n)%len(r.ids)]
	}
	return n
}

// do does an operation.
func (x *roguePublishers) do(b byte) time.Duration {
	r := x.rogues[int(b>>5)%hostileRogues]
	switch b & 31 % pubOperations {
	case pubAnnounce:
		x.announce(r)
	case pubWithdraw:
		x.withdraw(r)
	case pubGreet:
		r.greeting = x.byte()
	case pubObey:
		r.obeys = x.byte()&1 == 0
	case pubSubscribed:
		r.control(&subscription.Subscribed{ID: r.id()})
	case pubUnsubscribed:
		r.control(&subscription.Unsubscribed{ID: r.id()})
	case pubPositions:
		r.control(&subscription.Positions{ID: r.id(), List: x.list()})
	case pubLost:
		r.control(&subscription.Lost{
			Lane: uint16(x.number()), Cause: subscription.Cause(1 + x.byte()%4), Total: x.byte()&1 != 0, List: x.list(),
		})
	case pubRefused:
		r.control(&subscription.Refused{ID: r.id(), Reason: strings.Repeat("\x1b", int(x.byte()))})
	case pubGoodbye:
		m := &subscription.Goodbye{Lane: uint16(x.number())}
		if x.byte()&1 != 0 {
			m.List = x.list()
		}
		r.control(m)
	case pubBeat:
		r.control(&subscription.Beat{})
	case pubPage:
		r.page()
	case pubRaw:
		r.raw()
	case pubMutate:
		x.mutate()
	case pubStop:
		r.read(false)
	case pubGoOn:
		r.read(true)
	case pubDisconnect:
		r.disconnect()
	case pubReset:
		if r.ep != nil {
			x.net.Reset(r.ep.Local(), r.ep.Remote())
		}
	case pubWait:
		return x.pause()
	case pubPublish:
		x.p.burst(hostileStrict)
	case pubRepeat:
		x.repeat()
	case pubChange:
		how := x.byte()
		var set tags.Set
		if set.UnmarshalLimited(x.set(), subscription.MaxParts, subscription.MaxMasks) == nil && !set.IsEmpty() {
			x.change(how, set)
		}
	case pubStats:
		x.stats()
	case pubNarrow:
		r.narrow()
	case pubWrong:
		x.wrong(r)
	}
	return 0
}

// announce lists a rogue in the directory with a set of tags, whatever that is.
func (x *roguePublishers) announce(r *roguePublisher) {
	sizes := x.byte()
	e := directory.Entry{
		Instance: r.instance, Backend: "memory", Addresses: []netip.AddrPort{r.at}, PageBytes: 1 << 14, MaxMessageBytes: 1 << 14,
	}
	switch sizes % 8 {
	case 1:
		e.MaxMessageBytes = 1 << 20 // more than the subscriber takes
	case 2:
		e.PageBytes, e.MaxMessageBytes = 1, 1
	case 3:
		e.Backend = "another"
	case 4:
		e.Addresses = append([]netip.AddrPort{netip.AddrPortFrom(r.host, 9)}, r.at)
	case 5:
		e.Since = time.Unix(1<<32, 0)
	}
	if x.round >= mostCalls || e.Tags.UnmarshalBinary(x.set()) != nil {
		return
	}
	if r.entry != nil {
		_ = r.entry.Update(e)
		return
	}
	entry, err := x.dir.Announce(e)
	must(x.t, err)
	r.entry = entry
}

// withdraw takes the entry of a rogue away, in order or as if it had been killed.
func (x *roguePublishers) withdraw(r *roguePublisher) {
	if x.byte()&1 != 0 {
		x.dir.Expire(r.instance, directory.ErrDead)
	} else if r.entry != nil {
		must(x.t, r.entry.Withdraw())
		r.entry = nil
	}
}

// page sends a page of messages of which each has another tag, or none has.
func (r *roguePublisher) page() {
	h := r.h
	flags, lane, n, first, size := h.byte()&3, h.number(), int(h.byte()), h.byte(), int(h.byte())
	page := binary.LittleEndian.AppendUint16([]byte{1, flags}, uint16(lane))
	page = binary.LittleEndian.AppendUint32(page, uint32(n))
	one := first&1 != 0
	for i := range n {
		head := uint32(size)
		if i == 0 || !one {
			head |= 1 << 31
		}
		page = binary.LittleEndian.AppendUint32(page, head)
		if i == 0 || !one {
			page = binary.LittleEndian.AppendUint64(page, uint64(first)*8+uint64(i)+uint64(h.round)*uint64(n))
		}
		if flags&1 != 0 {
			page = binary.LittleEndian.AppendUint64(page, uint64(i+1+h.round))
		}
		page = append(page, make([]byte, size)...)
	}
	r.send(page)
}

// change makes the subscriber want other tags.
func (x *roguePublishers) change(how byte, set tags.Set) {
	if x.round >= mostCalls {
		return // each call posts a function
	}
	switch sub := x.changed; {
	case sub == nil || how%4 == 3:
		if sub != nil {
			go func() { _ = sub.Unsubscribe(context.Background()) }()
		}
		next, err := x.s.SubscribeWith(set, ignore, bus.SubscriptionConfig{Replay: int(how >> 4), Duplicates: bus.Duplicates(how>>2) % 3})
		must(x.t, err)
		x.changed = next
	case how%4 == 1:
		_ = sub.Remove(set)
	default:
		_ = sub.Add(set)
	}
}

// stats asks for statistics of all tags.
func (x *roguePublishers) stats() {
	if x.asked++; x.asked <= 4 {
		go func() { _, _ = x.s.TagStats(context.Background()) }()
	}
}

// wrong says what a publisher does not.
func (x *roguePublishers) wrong(r *roguePublisher) {
	switch x.byte() % 5 {
	case 0:
		r.control(&subscription.Subscribe{ID: x.number(), Set: []byte{1, 1, 1, 0, 0}})
	case 1:
		r.control(&subscription.Unsubscribe{ID: x.number()})
	case 2:
		r.control(&subscription.Missed{Cause: 1, List: x.list()})
	case 3:
		r.control(&subscription.Received{Messages: x.number()})
	case 4:
		r.control(&subscription.Ack{Tag: x.number(), Position: 1})
	}
}

// checkAll checks what must hold when the program has ended.
func (x *roguePublishers) checkAll() {
	t := x.t
	t.Helper()
	x.p.last(0) // while the rogues are there
	time.Sleep(100 * time.Millisecond)
	synctest.Wait()
	if got, want := x.strict.counters[0], x.p.published[0]; got != want {
		t.Errorf("while the hostile ones are there: got tag 0 up to message %d, want %d", got, want)
	}
	for _, r := range x.rogues {
		if r.entry != nil {
			must(t, r.entry.Withdraw())
		}
		_ = r.backend.Close()
	}
	time.Sleep(30 * time.Second)
	for tag := range tags.Tag(hostileStrict) {
		if tag%37 == 0 {
			x.p.last(tag)
		}
	}
	time.Sleep(2 * time.Second) // and what is told once a second
	synctest.Wait()
	x.checkHeap()
	x.strict.check(x.p, "subscriber", 0, hostileStrict-1, x.base)
	if len(x.trouble) > 0 {
		t.Errorf("%d events of the honest, as %.500q", len(x.trouble), x.trouble[0])
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if _, err := x.s.TagStats(ctx); err != nil {
		t.Errorf("TagStats: %v", err)
	}
	x.checkSlices(x.p.Publisher, x.s)
	x.checkLoop()
	if st, sources := x.s.Stats(), bus.SourcesOf(x.s); st.Publishers != 1 || sources > 1+hostileRogues {
		t.Errorf("got %d connections and %d publishers that are known, want 1 and at most %d", st.Publishers, sources, 1+hostileRogues)
	}
	must(t, x.s.Close())
	time.Sleep(time.Second)
	if st := x.p.Stats(); st.Pages != st.PagesFree {
		t.Errorf("got %d of %d pages free", st.PagesFree, st.Pages)
	}
	must(t, x.p.Close())
	if v := x.net.Violations(); len(v) > 0 {
		t.Errorf("memory changed while it was sent: %q", v)
	}
	x.loop.Close()
}

// FuzzHostilePublisher runs several hostile publishers by the input, against a
// subscriber that has an honest one too. What must hold is the same as in
// FuzzHostileSubscriber.
func FuzzHostilePublisher(f *testing.F) {
	for _, seed := range hostilePublisherSeeds() {
		f.Add(slices.Concat(seed...))
	}
	f.Fuzz(func(t *testing.T, input []byte) {
		if len(input) > mostOperations*operationBytes {
			t.Skip("longer than a program is")
		}
		t.Cleanup(bus.SetSliceSteps(hostileSlice))
		synctest.Test(t, func(t *testing.T) {
			x := newRoguePublishers(t, input)
			x.run(x.s, x.do)
			x.checkAll()
		})
	})
}

var _ netio.Handler = (*roguePublisher)(nil)

// hostilePublisherSeeds are programs for the rows of issue 12.
func hostilePublisherSeeds() [][][]byte {
	const single, some, everything, ranges, someMasks, tooMany = 0, 1, 3, 5, 6, 7
	listed := func(peer int) []byte { // with 2,040 tags, and obeys
		return slices.Concat(byPeer(peer, pubAnnounce, 0, some, 0, 255), byPeer(peer, pubWait, 2))
	}
	return [][][]byte{
		{ // 1, 2: lists of losses, again and again
			listed(0), byPeer(0, pubRepeat, 200), byPeer(0, pubLost, 0, 0, 0, 1, 0, 255, 1), byPeer(0, pubWait, 3),
			byPeer(0, pubStats), byPeer(0, pubRepeat, 100), byPeer(0, pubLost, 0, 1, 1, 133, 0, 255, 7), byPeer(0, pubPublish, 0, 255, 3), byPeer(0, pubWait, 3),
		},
		{ // 2: pages of other tags, and changes of what is wanted
			listed(0), byPeer(0, pubRepeat, 9), byPeer(0, pubPage, 0, 0, 200, 2, 8), byPeer(0, pubRepeat, 30), byPeer(0, pubPage, 1, 1, 200, 64, 8),
			byPeer(0, pubRepeat, 20), byPeer(0, pubChange, 0, ranges, 0, 20), byPeer(0, pubRepeat, 20), byPeer(0, pubChange, 1, ranges, 0, 20), byPeer(0, pubWait, 3),
		},
		{ // 4: very many tags are wanted
			byPeer(0, pubAnnounce, 0, everything), byPeer(0, pubWait, 2), byPeer(0, pubChange, 0, ranges, 0, 255), byPeer(0, pubRepeat, 50),
			byPeer(0, pubPositions, 2, 1, 0, 255, 1), byPeer(0, pubSubscribed, 2), byPeer(0, pubWait, 3),
		},
		{ // 5: beats, and greetings of all kinds
			byPeer(0, pubGreet, 0x10), listed(0), byPeer(1, pubGreet, 1), listed(1), byPeer(2, pubGreet, 4), listed(2), byPeer(3, pubGreet, 7), listed(3),
			byPeer(0, pubBeat), byPeer(0, pubWait, 4), byPeer(1, pubGreet, 2), byPeer(2, pubGreet, 5), byPeer(3, pubGreet, 6), byPeer(0, pubWait, 6),
		},
		{ // 7: entries and subscriptions of many masks
			byPeer(0, pubAnnounce, 0, tooMany, 0, 255), byPeer(1, pubAnnounce, 0, someMasks, 0, 255), byPeer(2, pubAnnounce, 0, someMasks, 1, 255), byPeer(0, pubWait, 2),
			byPeer(0, pubRepeat, 5), byPeer(0, pubChange, 0, someMasks, 0, 100), byPeer(1, pubRepeat, 9), byPeer(1, pubAnnounce, 0, someMasks, 1, 200), byPeer(0, pubWait, 3),
		},
		{ // 8: messages that never end
			listed(0), byPeer(0, pubNarrow, 1), byPeer(0, pubPage, 0, 0, 200, 2, 60), byPeer(0, pubMutate, 0, 9), byPeer(0, pubPage, 0, 0, 20, 2, 60), byPeer(0, pubWait, 5),
			byPeer(0, pubDisconnect), byPeer(0, pubWait, 3),
		},
		{ // 9: listed, and silent
			byPeer(0, pubGreet, 3), listed(0), byPeer(1, pubObey, 1), listed(1), byPeer(2, pubStop), listed(2), byPeer(0, pubWait, 6),
		},
		{ // 10: positions again and again, and the answers are not read
			byPeer(0, pubObey, 1), listed(0), byPeer(0, pubStop), byPeer(0, pubNarrow, 3), byPeer(0, pubLost, 0, 1, 0, 1, 0, 255, 9),
			byPeer(0, pubRepeat, 100), byPeer(0, pubPositions, 0, 1, 0, 255, 100), byPeer(0, pubWait, 3), byPeer(0, pubWait, 6),
		},
		{ // 11: counts near 2^64
			byPeer(0, pubObey, 1), listed(0), byPeer(0, pubPositions, 0, 0, 5, 0, 0xf4, 9), byPeer(0, pubWait, 3), byPeer(0, pubSubscribed, 0), byPeer(0, pubLost, 0, 0, 0, 0, 5, 0, 0xf0),
			byPeer(0, pubLost, 0, 0, 0, 0, 5, 0, 0xf0), byPeer(0, pubWait, 3), byPeer(0, pubLost, 0, 3, 1, 0, 5, 0, 0xf3), byPeer(0, pubWait, 3),
			byPeer(0, pubGoodbye, 0, 1, 0, 5, 0, 0xf2), byPeer(0, pubWait, 3),
		},
		{ // 12: pages of lanes that there are not, and instances that come and go
			listed(0), byPeer(0, pubPage, 0, 0xf5, 2, 2, 1), byPeer(0, pubWait, 3), byPeer(0, pubWithdraw), byPeer(0, pubWait, 1), byPeer(0, pubAnnounce, 5, single, 3), byPeer(0, pubWait, 2),
			byPeer(0, pubWithdraw, 1), byPeer(0, pubReset), byPeer(0, pubWait, 4), listed(1), byPeer(1, pubGoodbye), byPeer(1, pubWait, 3), byPeer(1, pubRefused, 0, 200),
		},
		{ // duplicates of each kind, and what is not of a publisher
			listed(0), byPeer(1, pubAnnounce, 5, some, 0, 255), byPeer(0, pubChange, 3|1<<2, some, 0, 255), byPeer(0, pubWait, 2), byPeer(0, pubPage, 0, 0, 9, 2, 8),
			byPeer(1, pubUnsubscribed, 0), byPeer(0, pubChange, 3|2<<2, some, 0, 255), byPeer(0, pubWait, 2), byPeer(0, pubWrong, 1), byPeer(0, pubWait, 2), byPeer(0, pubStats),
		},
	}
}
