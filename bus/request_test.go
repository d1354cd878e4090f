package bus

import (
	"errors"
	"net/netip"
	"testing"

	"tagbus/bus/directory/memory"
	"tagbus/netio/memnet"
	"tagbus/tags"
)

// Tags that come and go must not add up in the memory of a subscriber.
func TestASubscriberForgetsTagsThatItDoesNotWantAnyMore(t *testing.T) {
	network, dir := memnet.New(), memory.New()
	open := func(host string) (*memnet.Loop, netip.AddrPort) {
		loop := memnet.NewLoop()
		t.Cleanup(loop.Close)
		return loop, netip.AddrPortFrom(netip.MustParseAddr(host), 0)
	}
	loop, addr := open("10.0.0.1")
	p, err := NewPublisher(network.Opener(loop, memnet.Config{Host: addr.Addr()}), dir, PublisherConfig{Tags: tags.Everything(), Listen: addr})
	must(t, err)
	defer func() { must(t, p.Close()) }()
	loop, addr = open("10.0.0.2")
	s, err := NewSubscriber(network.Opener(loop, memnet.Config{Host: addr.Addr()}), dir, SubscriberConfig{})
	must(t, err)
	defer func() { must(t, s.Close()) }()

	const changes, each = 50, 200
	got := make(chan struct{}, each)
	sub, err := s.Subscribe(tags.Of(0), func(Message) { got <- struct{}{} })
	must(t, err)
	for i := range tags.Tag(changes) {
		set, err := tags.Range(1+i*each, (i+1)*each)
		must(t, err)
		must(t, sub.Add(set))
		must(t, sub.Wait(t.Context()))
		for tag := range set.All() {
			must(t, p.PublishContext(t.Context(), tag, nil))
		}
		for range each {
			<-got
		}
		must(t, sub.Remove(set))
		must(t, sub.Wait(t.Context()))
	}
	counts := make(chan [2]int)
	s.loop.Post(func() {
		n := s.sources[p.instance].lane(0)
		counts <- [2]int{n.received.Len(), len(n.byTag) + len(n.wide)}
	})
	if n := <-counts; n[0] > minPrune+each || n[1] > 1 {
		t.Errorf("after %d tags: %d remembered, %d in the index; want at most %d and 1", changes*each, n[0], n[1], minPrune+each)
	}
}

// Each line is a way to a state, what happens there, and what is owed then.
func TestTransitionsOfARequest(t *testing.T) {
	set := func(list ...tags.Tag) tags.Set { return tags.Of(list...) }
	type state struct {
		sent, active, acked tags.Set
		unanswered, current bool
		denied, settled     bool
	}
	ask := func(r *request) { r.ask() }
	acknowledged := func(r *request) { r.acknowledged() }
	refused := func(r *request) { r.refused(errors.New("no")) }
	leave := func(r *request) { r.leave() }
	lost := func(r *request) { r.disconnected(false) }
	want := func(list ...tags.Tag) func(*request) { return func(r *request) { r.rewant(set(list...)) } }
	active := []func(*request){ask, acknowledged}
	resumable := append(active[:2:2], lost)
	for _, x := range []struct {
		name string
		way  []func(*request) // from a new request that wants 1 and 2
		then func(*request)
		want state
	}{
		{"asked for", nil, ask, state{sent: set(1, 2), unanswered: true, settled: true}},
		{"acknowledged", []func(*request){ask}, acknowledged, state{sent: set(1, 2), active: set(1, 2), acked: set(1, 2), current: true, settled: true}},
		{"refused", []func(*request){ask}, refused, state{sent: set(1, 2), denied: true, settled: true}},
		{"refused, wants something else", []func(*request){ask, refused}, want(1), state{sent: set(1, 2), denied: true}},
		{"refused, asked again", []func(*request){ask, refused, want(1)}, ask, state{sent: set(1), unanswered: true, settled: true}},
		{"wants more while it is asked for", []func(*request){ask, want(1, 2, 3)}, acknowledged, state{sent: set(1, 2), active: set(1, 2), acked: set(1, 2)}},
		{"wants less while it is asked for", []func(*request){ask, want(1)}, acknowledged, state{sent: set(1, 2), active: set(1, 2), acked: set(1)}},
		{"wants less", active, want(1), state{sent: set(1, 2), active: set(1, 2), acked: set(1)}},
		{"wants the same", active, want(2, 1), state{sent: set(1, 2), active: set(1, 2), acked: set(1, 2), current: true, settled: true}},
		{"active, more is refused", append(active[:2:2], want(1, 2, 3), ask), refused, state{sent: set(1, 2, 3), active: set(1, 2), acked: set(1, 2), denied: true, settled: true}},
		{"leaves", active, leave, state{sent: set(1, 2), active: set(1, 2), acked: set(1, 2), unanswered: true, current: true, settled: true}},
		{"leaves before the answer", []func(*request){ask}, leave, state{sent: set(1, 2), unanswered: true, settled: true}},
		{"has left", append(active[:2:2], leave), (*request).ended, state{current: true}},
		{"wants nothing here", active, (*request).drop, state{sent: set(1, 2), active: set(1, 2), current: true, settled: true}},
		{"connection lost", active, lost, state{acked: set(1, 2), current: true}},
		{"connection lost before the answer", []func(*request){ask}, lost, state{}},
		{"connection lost after a refusal", []func(*request){ask, refused}, lost, state{}},
		{"connection lost, closed", active, func(r *request) { r.disconnected(true) }, state{current: true}},
		{"resumes", resumable, ask, state{sent: set(1, 2), acked: set(1, 2), unanswered: true, current: true, settled: true}},
		{"resumes, wants more", append(resumable[:3:3], want(1, 2, 3)), ask, state{sent: set(1, 2), acked: set(1, 2), unanswered: true}},
		{"resumes, wants less", append(resumable[:3:3], want(2, 3)), ask, state{sent: set(2), acked: set(2), unanswered: true}},
		{"wants only what is not owed", append(resumable[:3:3], want(3)), ask, state{sent: set(3), unanswered: true, settled: true}},
		{"resumed, refused for more", append(resumable[:3:3], want(1, 2, 3), ask), refused, state{sent: set(1, 2), acked: set(1, 2), denied: true, settled: true}},
	} {
		r := &request{want: set(1, 2)}
		for _, step := range x.way {
			step(r)
		}
		x.then(r)
		got := state{r.sent, r.active, r.acked, r.unanswered(), r.current, r.denied != nil, r.settled()}
		if !got.sent.Equal(x.want.sent) || !got.active.Equal(x.want.active) || !got.acked.Equal(x.want.acked) ||
			got.unanswered != x.want.unanswered || got.current != x.want.current || got.denied != x.want.denied || got.settled != x.want.settled {
			t.Errorf("%s:\ngot  %v\nwant %v", x.name, got, x.want)
		}
	}
}

// What a transition tells its caller: whether a Subscribe resumes, whether its answer
// is the second one, and whether an Unsubscribe is due.
func TestARequestTellsWhatIsDue(t *testing.T) {
	r := &request{want: tags.Of(1)}
	expect := func(what string, got, want bool) {
		t.Helper()
		if got != want {
			t.Errorf("%s: %v, want %v", what, got, want)
		}
	}
	expect("an Unsubscribe is due before anything was asked for", r.leave(), false)
	expect("the first Subscribe resumes", r.ask(), false)
	expect("an Unsubscribe is due before the answer", r.leave(), false)
	expect("the first answer is the second one", r.acknowledged(), false)
	r.disconnected(false)
	expect("an Unsubscribe is due without a connection", r.leave(), false)
	expect("a Subscribe on the next connection resumes", r.ask(), true)
	expect("its answer is the second one", r.acknowledged(), true)
	expect("a Subscribe on the same connection resumes", r.ask(), false)
	expect("its answer is the second one of the connection", r.acknowledged(), false)
	expect("an Unsubscribe is due", r.leave(), true)
	expect("another Unsubscribe is due", r.leave(), false)
	r.ended()
	expect("a Subscribe after the end resumes", r.ask(), false)
}

func must(tb testing.TB, err error) {
	tb.Helper()
	if err != nil {
		tb.Fatal(err)
	}
}
