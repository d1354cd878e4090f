// SPDX-License-Identifier: Apache-2.0

package bus_test

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"tagbus/bus"
	"tagbus/bus/directory"
	"tagbus/bus/state"
	"tagbus/internal/testkit/memnet"
	"tagbus/netio"
	"tagbus/netio/multi"
	"tagbus/tags"
)

// newBedOfTwo returns a bed whose programs have two ways to each other.
func newBedOfTwo(t *testing.T) *bed {
	t.Helper()
	b := newBed(t)
	b.near = memnet.New()
	return b
}

// backendsOf returns those of the connections of an instance, in the order of its peers.
func backendsOf(st state.State) string {
	var all []string
	for _, p := range st.Peers {
		all = append(all, p.Backend)
	}
	return strings.Join(all, " ")
}

// allPeers is a question for all peers.
var allPeers = state.Question{Peers: state.MaxPeers}

// passed returns the ways that a subscriber or a sender does not use, and why.
func passed(t *testing.T, s interface {
	State(ctx context.Context, q state.Question) (state.State, error)
},
) string {
	t.Helper()
	st, err := s.State(t.Context(), allPeers)
	must(t, err)
	var all []string
	for _, p := range st.Peers {
		for _, w := range p.Passed {
			all = append(all, w.Backend+": "+w.Reason)
		}
	}
	return strings.Join(all, "; ")
}

// One publisher serves subscribers by both ways, from one page for all of them.
func TestPublisher_eachSubscriberHasItsBestWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBedOfTwo(t)
		p := b.publisher(bus.PublisherConfig{Tags: tags.Of(1)})
		near := b.subscriber(bus.SubscriberConfig{})
		b.near = nil
		far := b.subscriber(bus.SubscriberConfig{})
		first, second := newCollector(), newCollector()
		subscribe(t, near, tags.Of(1), first.handle)
		subscribe(t, far, tags.Of(1), second.handle)
		const messages = 10_000
		for range messages {
			must(t, p.PublishContext(t.Context(), 1, make([]byte, 100)))
		}
		must(t, p.Drain(t.Context()))
		synctest.Wait()
		if first.count() != messages || second.count() != messages {
			t.Errorf("got %d and %d messages, want %d each", first.count(), second.count(), messages)
		}
		e, ok := near.first(bus.Connected)
		if f, _ := far.first(bus.Connected); !ok.IsZero() && (e.Peer.Backend != "near" || f.Peer.Backend != "memory") {
			t.Errorf("connected by %s and %s, want near and memory", e.Peer.Backend, f.Peer.Backend)
		}
		if near, far := near.Stats(), far.Stats(); near.Lost != 0 || far.Lost != 0 {
			t.Errorf("got %d and %d lost, want none", near.Lost, far.Lost)
		}
	})
}

func TestPublisher_itsEntryNamesItsWays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBedOfTwo(t)
		p := b.publisher(bus.PublisherConfig{Tags: tags.Of(1), Listening: bus.Listening{
			Also: []bus.Listener{{Backend: "memory", Listen: netip.MustParseAddrPort("10.0.0.1:7000")}, {Backend: "memory", Listen: netip.MustParseAddrPort("10.0.0.1:7001"), Advertise: []netip.AddrPort{netip.MustParseAddrPort("10.9.0.1:0")}}},
		}})
		entries, err := b.dir.List()
		must(t, err)
		e := entries[0]
		if got := fmt.Sprint(e.Backend, e.Addresses); got != "memory[10.0.0.1:7000 10.9.0.1:7001]" || p.Addr().String() != "10.0.0.1:7000" {
			t.Errorf("got %s, Addr %v, want both addresses", got, p.Addr())
		}
		if len(e.Ways) != 1 || e.Ways[0].Backend != "near" || len(e.Ways[0].Addresses) != 1 {
			t.Errorf("got the ways %v, want near", e.Ways)
		}
		st, err := p.State(t.Context(), allPeers)
		must(t, err)
		if st.Backend != "near,memory" || len(st.Ways) != 1 || st.Ways[0].Backend != "near" || len(st.Addresses) != 2 {
			t.Errorf("got the state %q, %v, %v", st.Backend, st.Ways, st.Addresses)
		}
	})
}

func TestSubscriber_fallsBackAndSaysWhy(t *testing.T) {
	for _, test := range []struct {
		name  string
		fails func(b *bed, name netip.AddrPort)
		after time.Duration
		want  string
	}{
		{"the better way is refused", func(b *bed, name netip.AddrPort) { b.near.Refuse(name) }, time.Millisecond, "near: by near: netio: open endpoint 10.0.0.1:40000: connection refused"},
		{"it does not answer", func(b *bed, name netip.AddrPort) { b.near.Partition(anybody, name) }, 4100 * time.Millisecond, "near: no answer yet when another way was ready"},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBedOfTwo(t)
				p := b.publisher(bus.PublisherConfig{Tags: tags.Of(1)})
				entries, err := b.dir.List()
				must(t, err)
				name := entries[0].Ways[0].Addresses[0]
				test.fails(b, name)
				s := b.subscriber(bus.SubscriberConfig{})
				c := newCollector()
				_, err = s.Subscribe(tags.Of(1), c.handle)
				must(t, err)
				time.Sleep(test.after)
				synctest.Wait()
				must(t, p.Publish(1, nil))
				time.Sleep(time.Millisecond)
				if c.count() != 1 {
					t.Errorf("got %d messages, want 1; events %v", c.count(), s.kinds())
				}
				st, err := s.State(t.Context(), allPeers)
				must(t, err)
				if got := passed(t, s); backendsOf(st) != "memory" || strings.Replace(got, name.String(), "10.0.0.1:40000", 1) != test.want {
					t.Errorf("by %s, %q, want by memory, %q", backendsOf(st), got, test.want)
				}
			})
		})
	}
}

// A sender says which better way to a receiver it does not use.
func TestSender_fallsBackAndSaysWhy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBedOfTwo(t)
		r := b.receiver(bus.ReceiverConfig{Tags: tags.Of(1)}, newCollector().handle)
		entries, err := b.dir.List()
		must(t, err)
		name := entries[0].Ways[0].Addresses[0]
		b.near.Refuse(name)
		s := b.sender(bus.SenderConfig{Tags: tags.Of(1)})
		time.Sleep(time.Second)
		synctest.Wait()
		if got, want := passed(t, s), fmt.Sprintf("near: by near: netio: open endpoint %v: connection refused", name); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
		if got := passed(t, r); got != "" {
			t.Errorf("the receiver, which has dialed none, says %q", got)
		}
	})
}

// A connection that is lost is made again by the best way that there is then, and nothing is lost
// without being counted.
func TestSubscriber_changesItsWayAfterALoss(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBedOfTwo(t)
		p := b.publisher(bus.PublisherConfig{Tags: tags.Of(1), Sending: bus.Sending{CacheMessages: 1000}})
		s := b.subscriber(bus.SubscriberConfig{})
		c := newCollector()
		subscribe(t, s, tags.Of(1), c.handle)
		look := func(want string) {
			t.Helper()
			st, err := s.State(t.Context(), allPeers)
			must(t, err)
			if got := backendsOf(st); got != want {
				t.Fatalf("connected by %q, want %q", got, want)
			}
		}
		look("near")
		entries, err := b.dir.List()
		must(t, err)
		name := entries[0].Ways[0].Addresses[0]
		publish := func() {
			for range 100 {
				must(t, p.Publish(1, nil))
			}
			time.Sleep(10 * time.Second)
			synctest.Wait()
		}
		publish()
		b.near.Refuse(name)
		b.near.Reset(name, anyPort(s.host))
		publish()
		look("memory")
		b.near.Admit(name)
		b.net.Reset(p.Addr(), anyPort(s.host))
		publish()
		look("near")
		if c.count() != 300 || s.Stats().Lost != 0 {
			t.Errorf("got %d messages, %d lost, want 300 and none", c.count(), s.Stats().Lost)
		}
	})
}

// A subscriber that knows several ways uses the one of an old publisher, and the other way round.
func TestSubscriber_oldEntriesAndOldPrograms(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBedOfTwo(t)
		p := b.publisher(bus.PublisherConfig{Tags: tags.Of(1)})
		b.near = nil
		old := b.publisher(bus.PublisherConfig{Tags: tags.Of(2)})
		oldSubscriber := b.subscriber(bus.SubscriberConfig{})
		b.near = memnet.New()
		s := b.subscriber(bus.SubscriberConfig{})
		c, d := newCollector(), newCollector()
		subscribe(t, s, tags.Of(2), c.handle)
		subscribe(t, oldSubscriber, tags.Of(1), d.handle)
		must(t, old.Publish(2, nil))
		must(t, p.Publish(1, nil))
		time.Sleep(time.Second)
		if c.count() != 1 || d.count() != 1 {
			t.Errorf("got %d and %d messages, want 1 each", c.count(), d.count())
		}
		if got, want := passed(t, oldSubscriber), "near: this program has only memory"; got != want {
			t.Errorf("the old subscriber passed %q, want %q", got, want)
		}
	})
}

func TestReceiver_sendersHaveTheirBestWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBedOfTwo(t)
		c := newCollector()
		r := b.receiver(bus.ReceiverConfig{Tags: tags.Of(1)}, c.handle)
		s := b.sender(bus.SenderConfig{Tags: tags.Of(1)})
		must(t, s.SendContext(t.Context(), 1, nil))
		time.Sleep(time.Second)
		for name, look := range map[string]func() (state.State, error){
			"receiver": func() (state.State, error) { return r.State(t.Context(), allPeers) },
			"sender":   func() (state.State, error) { return s.State(t.Context(), allPeers) },
		} {
			if st, err := look(); err != nil || backendsOf(st) != "near" {
				t.Errorf("%s: got %q, %v, want near", name, backendsOf(st), err)
			}
		}
		if c.count() != 1 {
			t.Errorf("got %d messages, want 1", c.count())
		}
	})
}

// Where it is decided what a peer may have, processes of the host are reached by the better way, too, and none
// can map the pool, in which the pages of all tags are.
func TestAccess_noPoolIsShared(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBedOfTwo(t)
		x := b.site(`{"rules":[{"who":"anonymous","publish":"1-2","subscribe":"1"}]}`)
		probe, err := netio.AllocSharedRegion(1)
		must(t, err)
		_, has := netio.RegionFile(probe) // a build with the race detector has none
		must(t, netio.FreeRegion(probe))
		for guarded, access := range map[bool]bus.Access{false: nil, true: x.as("")} {
			p := b.publisher(bus.PublisherConfig{Tags: tags.Of(1, 2), Common: bus.Common{Access: access}})
			if st, err := p.State(t.Context(), allPeers); err != nil || st.Backend != "near,memory" {
				t.Errorf("with Access %t: got the backends %q, %v, want both", guarded, st.Backend, err)
			}
			if want := has && !guarded; b.shared != want {
				t.Errorf("with Access %t: got a pool that is shared: %t, want %t", guarded, b.shared, want)
			}
			must(t, p.Close())
		}
	})
}

// What a policy forbids it forbids by all ways, and a change of it holds for all of them.
func TestAccess_holdsByTheBetterWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBedOfTwo(t)
		x := b.site(`{"rules":[{"who":"anonymous","publish":"1-2","subscribe":"1"}]}`)
		p := b.publisher(bus.PublisherConfig{Tags: tags.Of(1, 2), Common: bus.Common{Access: x.as("")}})
		s := b.subscriber(bus.SubscriberConfig{Common: bus.Common{Access: x.as("")}})
		got := newCollector()
		_, err := s.Subscribe(tags.Of(1, 2), got.handle)
		must(t, err)
		synctest.Wait()
		publishEach(t, p, 1, 2)
		st, err := s.State(t.Context(), allPeers)
		if must(t, err); backendsOf(st) != "near" || len(got.data[1]) != 1 || len(got.data[2]) != 0 {
			t.Errorf("got %d and %d messages by %q, want 1 and 0 by near", len(got.data[1]), len(got.data[2]), backendsOf(st))
		}
		x.change(`{"rules":[{"who":"anonymous","publish":"1-2","subscribe":"2"}]}`)
		time.Sleep(10 * time.Second)
		publishEach(t, p, 1, 2)
		if len(got.data[1]) != 1 || len(got.data[2]) != 1 {
			t.Errorf("after a change: got %d and %d messages, want 1 and 1", len(got.data[1]), len(got.data[2]))
		}
	})
}

// mustEntry returns the first entry of a directory.
func mustEntry(t *testing.T, dir interface {
	List() ([]directory.Entry, error)
},
) directory.Entry {
	t.Helper()
	entries, err := dir.List()
	must(t, err)
	return entries[0]
}

func TestPublisher_aBackendThatItHasNot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBedOfTwo(t)
		m := b.member()
		t.Cleanup(m.loop.Close)
		_, err := bus.NewPublisher(b.opener(m), b.dir, bus.PublisherConfig{Tags: tags.Of(1), Listening: bus.Listening{Also: []bus.Listener{{Backend: "pigeon", Listen: anyPort(m.host)}}}})
		if !errors.Is(err, bus.ErrInvalidConfig) || !strings.Contains(err.Error(), `"pigeon", and there is near,memory`) {
			t.Errorf("got %v, want ErrInvalidConfig", err)
		}
	})
}

// A way that cannot be listened on is told and left out, whichever transport it is of. Only the last
// one, which all programs have, is an error.
func TestPublisher_aWayThatCannotBeListenedOn(t *testing.T) {
	refuses := func(open netio.Opener) netio.Opener {
		return func(h netio.Handler) (netio.Backend, error) {
			b, err := open(h)
			return deafBackend{b}, err
		}
	}
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t)
		for _, last := range []bool{false, true} {
			m := b.member()
			t.Cleanup(m.loop.Close)
			fabric := multi.Part{Open: refuses(memnet.New().Opener(m.loop, memnet.Config{Name: "fabric", Host: m.host}))}
			parts := []multi.Part{fabric, {Open: b.opener(m)}}
			if last {
				slices.Reverse(parts)
			}
			cfg := bus.PublisherConfig{Tags: tags.Of(1), Common: bus.Common{OnEvent: m.note}, Listening: bus.Listening{Listen: anyPort(m.host)}}
			p, err := bus.NewPublisher(multi.Opener(parts...), b.dir, cfg)
			if last {
				if !errors.Is(err, errDeaf) {
					t.Errorf("the last one: got %v, want %v", err, errDeaf)
				}
				continue
			}
			must(t, err)
			synctest.Wait()
			problem, _ := m.first(bus.Problem)
			if way := (*bus.WayError)(nil); !errors.As(problem.Err, &way) || way.Backend != "fabric" || len(mustEntry(t, b.dir).Ways) != 0 {
				t.Errorf("got the problem %v, want that fabric is missing", problem.Err)
			}
			must(t, p.Close())
			cfg.Also = []bus.Listener{{Backend: "fabric", Listen: anyPort(m.host)}}
			if _, err := bus.NewPublisher(multi.Opener(parts...), b.dir, cfg); !errors.Is(err, errDeaf) {
				t.Errorf("a place that is named: got %v, want %v", err, errDeaf)
			}
		}
	})
}

// A place may name the kind of several devices, as before there were any: the one that has the address listens there.
func TestPublisher_aPlaceThatNamesAKind(t *testing.T) {
	at := netip.MustParseAddrPort
	for _, test := range []struct{ listen, also, want string }{
		{"10.0.0.2:7000", "10.0.0.2:7000", "[10.0.0.2:7000]"},
		{"10.0.0.1:7000", "10.0.0.2:7000", "[10.0.0.1:7000 10.0.0.2:7000]"},
		{"10.0.0.3:7000", "10.0.0.3:7000", "its own address is"},
	} {
		synctest.Test(t, func(t *testing.T) {
			b := newBed(t)
			m := b.member()
			t.Cleanup(m.loop.Close)
			var parts []multi.Part
			for _, own := range []string{"10.0.0.1", "10.0.0.2"} {
				open := memnet.New().Opener(m.loop, memnet.Config{Name: "fabric@" + own, Host: netip.MustParseAddr(own)})
				parts = append(parts, multi.Part{Open: func(h netio.Handler) (netio.Backend, error) {
					opened, err := open(h)
					return ownAddress{opened, netip.MustParseAddr(own)}, err
				}})
			}
			cfg := bus.PublisherConfig{Tags: tags.Of(1), Listening: bus.Listening{Also: []bus.Listener{{Backend: "fabric", Listen: at(test.also)}}}}
			if test.listen != test.also {
				cfg.Also = append(cfg.Also, bus.Listener{Backend: "fabric@10.0.0.1", Listen: at(test.listen)})
			}
			p, err := bus.NewPublisher(multi.Opener(parts...), b.dir, cfg)
			got := fmt.Sprint(err)
			if err == nil {
				got = fmt.Sprint(mustEntry(t, b.dir).Addresses)
				must(t, p.Close())
			}
			if got != test.want && (err == nil || !strings.Contains(got, test.want)) {
				t.Errorf("%+v: got %s", test, got)
			}
		})
	}
}

// ownAddress listens at one address only, as a device does.
type ownAddress struct {
	netio.Backend
	own netip.Addr
}

func (b ownAddress) OpenListenEndpoint(addr netip.AddrPort, p netio.Params) (netio.ListenEndpoint, error) {
	if addr.Addr() != b.own {
		return nil, fmt.Errorf("%w: its own address is %v", netio.ErrInvalidAddress, b.own)
	}
	return b.Backend.OpenListenEndpoint(addr, p)
}

// deafBackend cannot listen, as one of a device at an address that is not its own.
type deafBackend struct{ netio.Backend }

var errDeaf = errors.New("not an address of the device")

func (deafBackend) OpenListenEndpoint(netip.AddrPort, netio.Params) (netio.ListenEndpoint, error) {
	return nil, errDeaf
}
