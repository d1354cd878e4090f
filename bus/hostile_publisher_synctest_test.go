// SPDX-License-Identifier: Apache-2.0

package bus_test

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"tagbus/bus"
	"tagbus/bus/directory"
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
	pubRights
	pubPolicy
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

func newRoguePublishers(t *testing.T, input []byte, limited bool) *roguePublishers {
	x := &roguePublishers{hostileBed: newHostileBed(t, input)}
	if limited {
		x.limit()
	}
	x.p = x.honest(hostileStrict, func(e bus.Event) {
		if e.Kind == bus.Lost || e.Kind == bus.Refused && !ofItsUser(e) {
			x.trouble = append(x.trouble, "publisher: "+e.String())
		}
	})
	x.strict = &judge{from: x.p.Instance, counters: make(map[tags.Tag]uint64)}
	x.base = slices.Clone(x.p.published)
	x.as("cn:rogue")
	for i := range x.rogues {
		x.rogues[i] = x.newRoguePublisher(i)
	}
	access := x.as("cn:honest")
	var err error
	x.s, err = bus.NewSubscriber(x.opener(x.newHost()), x.dir, bus.SubscriberConfig{
		Common: bus.Common{OnEvent: x.onSubscriberEvent, Access: access}, Receiving: bus.Receiving{MaxMessageBytes: 64 << 10}, Dialing: bus.Dialing{ReconnectMax: time.Second},
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

// ofItsUser reports whether an event is due to what the subscriber's own user asks for: while
// its set changes, the old one and the new one may have too many masks together.
func ofItsUser(e bus.Event) bool {
	return strings.Contains(e.String(), "too many tags on one connection")
}

func (x *roguePublishers) onSubscriberEvent(e bus.Event) {
	if e.Peer == nil || e.Peer.Instance != x.p.Instance() || ofItsUser(e) {
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
	h := subscription.Hello{Instance: r.instance, MaxMessageBytes: 1 << 14, BeatMillis: int(r.greeting>>4) * 100, Limited: r.greeting&8 != 0}
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
	if n == 128 {
		return subscription.EndingID
	}
	if n < 128 && len(r.ids) > 0 {
		return r.ids[int(n)%len(r.ids)]
	}
	return n
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
