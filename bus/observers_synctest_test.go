// SPDX-License-Identifier: Apache-2.0

package bus_test

import (
	"errors"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"tagbus/bus"
	"tagbus/bus/directory"
	"tagbus/bus/observer"
	"tagbus/bus/state"
	"tagbus/netio"
	"tagbus/subscription"
	"tagbus/tags"
)

// observer opens an observer on a host of its own.
func (b *bed) observer(cfg observer.Config) *observer.Observer {
	b.tb.Helper()
	m := b.member()
	o, err := observer.New(b.opener(m), cfg)
	must(b.tb, err)
	b.tb.Cleanup(func() {
		must(b.tb, o.Close())
		m.loop.Close()
	})
	return o
}

// entry returns the entry of an instance.
func (b *bed) entry(instance string) directory.Entry {
	b.tb.Helper()
	entries, err := b.dir.List()
	must(b.tb, err)
	i := slices.IndexFunc(entries, func(e directory.Entry) bool { return e.Instance == instance })
	if i < 0 {
		b.tb.Fatalf("no entry of %s", instance)
	}
	return entries[i]
}

// observed is what observers ask: a publisher with a subscriber, or a receiver with a sender.
type observed struct {
	*member
	instance string
	addr     netip.AddrPort
	peers    func() int
	drain    func() error
	close    func() error
}

// observed opens one of each, with a place for one peer, which is taken.
func (b *bed) observed(t *testing.T) map[string]observed {
	p := b.publisher(bus.PublisherConfig{Tags: tags.Of(1), MaxSubscribers: 1})
	s := b.subscriber(bus.SubscriberConfig{})
	sub, err := s.Subscribe(tags.Of(1), ignore)
	must(t, err)
	must(t, sub.Wait(t.Context()))
	r := b.receiver(bus.ReceiverConfig{Tags: tags.Of(2), MaxSenders: 1}, ignore)
	out := b.sender(bus.SenderConfig{Tags: tags.Of(2)})
	must(t, out.WaitReceivers(t.Context(), tags.Of(2)))
	synctest.Wait()
	return map[string]observed{
		"publisher": {p.member, p.Instance(), p.Addr(), func() int { return len(p.Stats().Subscribers) }, func() error { return p.Drain(t.Context()) }, p.Close},
		"receiver":  {r.member, r.Instance(), r.Addr(), func() int { return r.Stats().Publishers }, func() error { return r.Drain(t.Context()) }, r.Close},
	}
}

// eachObserved runs a test with a publisher and with a receiver.
func eachObserved(t *testing.T, test func(t *testing.T, b *bed, x observed)) {
	for _, name := range []string{"publisher", "receiver"} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBed(t)
				test(t, b, b.observed(t)[name])
			})
		})
	}
}

// Observers come, ask and go, and neither a count nor an event nor a place shows that.
func TestPublisher_anObserverIsNoPeer(t *testing.T) {
	eachObserved(t, func(t *testing.T, b *bed, x observed) {
		before, e := x.kinds(), b.entry(x.instance)
		var wg sync.WaitGroup
		for range 5 {
			o := b.observer(observer.Config{})
			wg.Go(func() {
				s, err := o.Ask(t.Context(), e, state.Question{Peers: 10})
				if err != nil || s.Instance != x.instance || s.Connected != 1 {
					t.Errorf("got %+v and error %v, want the state of %s with one peer", s, err, x.instance)
				}
				must(t, o.Close())
			})
		}
		wg.Wait()
		synctest.Wait()
		if got := x.peers(); got != 1 {
			t.Errorf("got %d peers, want 1", got)
		}
		if got := x.kinds(); !slices.Equal(got, before) {
			t.Errorf("got the events %v, want %v as before", got, before)
		}
	})
}

// The observer that is idle for longest gives way to the 65th.
func TestPublisher_observersAreBounded(t *testing.T) {
	eachObserved(t, func(t *testing.T, b *bed, x observed) {
		var all []*stranger
		for range 65 {
			s := &stranger{answer: [][]byte{hello(t, subscription.Hello{Instance: "o", Role: subscription.RoleObserver, MaxMessageBytes: 16384})}}
			backend, _ := b.stranger(s)
			must(t, backend.OpenEndpoint(x.addr, netio.Params{}))
			time.Sleep(time.Millisecond)
			all = append(all, s)
		}
		synctest.Wait()
		for i, s := range all {
			if s.ended() != (i == 0) || s.answers() != 1 {
				t.Errorf("observer %d: got ended %t and %d messages, want a hello", i, s.ended(), s.answers())
			}
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		for i, s := range all {
			if !s.ended() {
				t.Errorf("observer %d asks nothing, and is there after a minute", i)
			}
		}
	})
}

// A Drain closes the observers at once, waits for none of them, and no further one is taken.
func TestPublisher_Drain_endsObservers(t *testing.T) {
	eachObserved(t, func(t *testing.T, b *bed, x observed) {
		o, e := b.observer(observer.Config{}), b.entry(x.instance)
		idle := &stranger{answer: [][]byte{hello(t, subscription.Hello{Instance: "o", Role: subscription.RoleObserver, MaxMessageBytes: 16384})}}
		backend, _ := b.stranger(idle)
		must(t, backend.OpenEndpoint(x.addr, netio.Params{}))
		_, err := o.Ask(t.Context(), e, state.Question{})
		must(t, err)
		begun := time.Now()
		if err = x.drain(); err != nil || time.Since(begun) > time.Second {
			t.Errorf("Drain: got error %v after %v, want none at once", err, time.Since(begun))
		}
		synctest.Wait()
		if !idle.ended() {
			t.Error("an observer is there after the Drain")
		}
		_, err = o.Ask(t.Context(), e, state.Question{})
		if want := "observer: it takes no observer, as it is of an older version of tagbus, or ends: bus: closed"; err == nil || err.Error() != want {
			t.Errorf("got error %q, want %q", err, want)
		}
		must(t, x.close())
		_, err = o.Ask(t.Context(), e, state.Question{})
		if op := (*netio.OpError)(nil); !errors.As(err, &op) {
			t.Errorf("after the Close: got error %v, want that nothing listens", err)
		}
	})
}

// A Close with questions under way ends them, and waits for none.
func TestPublisher_Close_endsObservers(t *testing.T) {
	eachObserved(t, func(t *testing.T, b *bed, x observed) {
		e := b.entry(x.instance)
		var wg sync.WaitGroup
		for range 10 {
			o := b.observer(observer.Config{})
			wg.Go(func() {
				for {
					if _, err := o.Ask(t.Context(), e, state.Question{}); err != nil {
						return
					}
				}
			})
		}
		time.Sleep(time.Second)
		begun := time.Now()
		if err := x.close(); err != nil || time.Since(begun) > 5*time.Second {
			t.Errorf("got error %v after %v, want none", err, time.Since(begun))
		}
		wg.Wait()
	})
}

// A Close inside a callback, while questions are under way, waits for none of them.
func TestPublisher_Close_insideACallbackEndsObservers(t *testing.T) {
	eachObserved(t, func(t *testing.T, b *bed, x observed) {
		e := b.entry(x.instance)
		closed := make(chan time.Time, 1)
		x.when(bus.Refused, func() {
			must(t, x.close())
			closed <- time.Now()
		})
		var wg sync.WaitGroup
		for range 5 {
			o := b.observer(observer.Config{})
			wg.Go(func() {
				for {
					if _, err := o.Ask(t.Context(), e, state.Question{Peers: 10}); err != nil {
						return
					}
				}
			})
		}
		time.Sleep(time.Second)
		s := &stranger{answer: [][]byte{[]byte("GET / HTTP/1.1")}}
		backend, _ := b.stranger(s)
		must(t, backend.OpenEndpoint(x.addr, netio.Params{}))
		begun := time.Now()
		if took := (<-closed).Sub(begun); took > time.Second {
			t.Errorf("took %v, want at once", took)
		}
		wg.Wait()
	})
}

// What is wrong with an observer is said, to it or in an event.
func TestPublisher_wrongObservers(t *testing.T) {
	good := subscription.Hello{Instance: "o", Role: subscription.RoleObserver, MaxMessageBytes: 16384}
	small, other := good, good
	small.MaxMessageBytes--
	other.Expect = "other"
	tests := []struct {
		name    string
		hello   subscription.Hello
		then    []subscription.Message
		refused string // instead of a hello
		problem string // an event
	}{
		{"a hello that is too small", small, nil, "bus: protocol violation: observer receives at most 16383 bytes at once, want 16384", ""},
		{"another instance", other, nil, "bus: another publisher answers at this address: its directory entry is stale: expected other, this is ", ""},
		{"a subscription", good, []subscription.Message{&subscription.Subscribe{ID: 1, Set: []byte{1, 1, 5, 0, 0}}}, "", "bus: protocol violation: an observer does not send subscribe"},
		{"two questions", good, []subscription.Message{&subscription.Describe{ID: 1}, &subscription.Describe{ID: 2}}, "", "bus: protocol violation: an observer asks again before the answer is whole"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			eachObserved(t, func(t *testing.T, b *bed, x observed) {
				s := &stranger{answer: [][]byte{hello(t, test.hello)}}
				backend, host := b.stranger(s)
				must(t, backend.OpenEndpoint(x.addr, netio.Params{}))
				synctest.Wait()
				// They arrive together, or an answer may be whole before the next question.
				own := netip.AddrPortFrom(host, 0)
				b.net.Stall(own, x.addr)
				for _, m := range test.then {
					s.send(control(t, m))
				}
				synctest.Wait()
				b.net.Resume(own, x.addr)
				synctest.Wait()
				if !s.ended() || s.answers() == 0 {
					t.Fatalf("got ended %t and %d messages, want an answer and the end", s.ended(), s.answers())
				}
				if test.refused != "" {
					m, err := subscription.Decode(s.got[0])
					if refused, ok := m.(*subscription.Refused); err != nil || !ok || refused.ID != 0 || !strings.HasPrefix(refused.Reason, test.refused) {
						t.Errorf("got %+v and error %v, want the refusal %q", m, err, test.refused)
					}
					return
				}
				if problems := x.of(bus.Problem); len(problems) != 1 || problems[0].Err.Error() != test.problem || problems[0].Peer.Instance != "o" {
					t.Errorf("got the problems %v, want %q", problems, test.problem)
				}
			})
		})
	}
}

// A role that a publisher does not know is refused in words: so a newer program learns that
// this one is older.
func TestPublisher_refusesAnUnknownRole(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t)
		x := b.observed(t)["publisher"]
		s := &stranger{answer: [][]byte{hello(t, subscription.Hello{Instance: "o", Role: "newer", MaxMessageBytes: 1 << 30})}}
		backend, _ := b.stranger(s)
		must(t, backend.OpenEndpoint(x.addr, netio.Params{}))
		synctest.Wait()
		m, err := subscription.Decode(s.got[0])
		if refused, ok := m.(*subscription.Refused); err != nil || !ok || refused.Reason != "bus: protocol violation: a newer has dialed a publisher" {
			t.Errorf("got %+v and error %v, want a refusal", m, err)
		}
	})
}
