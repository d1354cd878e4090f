// SPDX-License-Identifier: Apache-2.0

package bus_test

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"tagbus/bus"
	"tagbus/bus/state"
	"tagbus/internal/testkit/memnet"
	"tagbus/netio"
	"tagbus/tags"
)

// The two addresses of a host.
var (
	firstAddress  = netip.MustParseAddrPort("10.1.0.1:7000")
	secondAddress = netip.MustParseAddrPort("10.1.0.2:7000")
)

// dialBed has a host with two addresses, and one that dials it.
type dialBed struct {
	*bed
	listens, dials *member
	close          func() error // of the side that dials
	addresses      *addresses   // of the host that listens; nil: of this one
	monitor        netip.AddrPort
	state          func(context.Context, state.Question) (state.State, error) // of the side that listens
	begun          time.Time

	mu  sync.Mutex
	net []string // what the network did at the side that dials, with its time in milliseconds
}

// newDialBed makes one whose network still works.
func newDialBed(t *testing.T) *dialBed {
	t.Helper()
	x := &dialBed{bed: newBed(t)}
	x.bed.net.Observe(func(e memnet.Event) {
		x.mu.Lock()
		defer x.mu.Unlock()
		switch e.Kind {
		case memnet.Established, memnet.Refused, memnet.Closed:
			if x.dials != nil && e.Local.Addr() == x.dials.host {
				x.net = append(x.net, fmt.Sprintf("%d %v %v", time.Since(x.begun).Milliseconds(), e.Kind, e.Remote))
			}
		default:
		}
	})
	return x
}

// dialedSides open both sides, by the one that dials. The other one has a single seat.
var dialedSides = map[string]func(x *dialBed, listen netip.AddrPort, advertise []netip.AddrPort){
	"subscriber": func(x *dialBed, listen netip.AddrPort, advertise []netip.AddrPort) {
		m := x.member()
		cfg := bus.PublisherConfig{Tags: tags.Of(1), Listening: bus.Listening{Listen: listen, Advertise: advertise}, MaxSubscribers: 1, Common: bus.Common{OnEvent: m.note, Monitor: x.monitor}}
		if x.addresses != nil {
			bus.SetPublisherHost(&cfg, x.addresses)
		}
		p, err := bus.NewPublisher(x.bed.net.Opener(m.loop, memnet.Config{}), x.dir, cfg)
		must(x.tb, err)
		x.tb.Cleanup(func() { must(x.tb, p.Close()); m.loop.Close() })
		x.listens, x.state = m, p.State
		x.begin(func(d *member) func() error {
			s, err := bus.NewSubscriber(x.opener(d), x.dir, bus.SubscriberConfig{Common: bus.Common{OnEvent: d.note}})
			must(x.tb, err)
			_, err = s.Subscribe(tags.Of(1), func(bus.Message) {})
			must(x.tb, err)
			return s.Close
		})
	},
	"sender": func(x *dialBed, listen netip.AddrPort, advertise []netip.AddrPort) {
		m := x.member()
		cfg := bus.ReceiverConfig{Tags: tags.Of(1), Listening: bus.Listening{Listen: listen, Advertise: advertise}, MaxSenders: 1, Common: bus.Common{OnEvent: m.note, Monitor: x.monitor}}
		if x.addresses != nil {
			bus.SetReceiverHost(&cfg, x.addresses)
		}
		r, err := bus.NewReceiver(x.bed.net.Opener(m.loop, memnet.Config{}), x.dir, cfg, func(bus.Message) {})
		must(x.tb, err)
		x.tb.Cleanup(func() { must(x.tb, r.Close()); m.loop.Close() })
		x.listens, x.state = m, r.State
		x.begin(func(d *member) func() error {
			s, err := bus.NewSender(x.opener(d), x.dir, bus.SenderConfig{Tags: tags.Of(1), Common: bus.Common{OnEvent: d.note}})
			must(x.tb, err)
			return s.Close
		})
	},
}

// begin opens the side that dials.
func (x *dialBed) begin(open func(d *member) func() error) {
	d := x.member()
	d.host = netip.MustParseAddr("10.0.9.9")
	x.mu.Lock()
	x.dials, x.begun = d, time.Now()
	x.mu.Unlock()
	x.close = open(d)
	x.tb.Cleanup(func() { must(x.tb, x.close()); d.loop.Close() })
}

// dialer is the host of the side that dials, for the rules of the network.
var dialer = netip.MustParseAddrPort("10.0.9.9:0")

func TestSubscriber_theAddressesOfAHost(t *testing.T) {
	both := []netip.AddrPort{firstAddress, secondAddress}
	dead := func(addr netip.AddrPort) func(x *dialBed) {
		return func(x *dialBed) { x.bed.net.Partition(dialer, addr) }
	}
	for _, c := range []struct {
		name  string
		fault func(x *dialBed)
		want  []string       // at the network of the side that dials
		peer  netip.AddrPort // that is connected
	}{
		{
			name: "both are alive: only the first one is used", fault: func(*dialBed) {},
			want: []string{"0 established 10.1.0.1:7000"}, peer: firstAddress,
		},
		{
			name: "a dead one costs 250 ms", fault: dead(firstAddress),
			want: []string{"250 established 10.1.0.2:7000", "5000 refused 10.1.0.1:7000"}, peer: secondAddress,
		},
		{
			name: "a refused one costs nothing", fault: func(x *dialBed) { x.bed.net.Refuse(firstAddress) },
			want: []string{"0 refused 10.1.0.1:7000", "0 established 10.1.0.2:7000"}, peer: secondAddress,
		},
		{
			name: "the slower one is closed", fault: func(x *dialBed) { x.bed.net.SetDelay(firstAddress, dialer, 300*time.Millisecond) },
			want: []string{"250 established 10.1.0.2:7000", "300 established 10.1.0.1:7000", "300 closed 10.1.0.1:7000"}, peer: secondAddress,
		},
	} {
		for side, open := range dialedSides {
			t.Run(c.name+", "+side, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					x := newDialBed(t)
					c.fault(x)
					open(x, everywhere, both)
					time.Sleep(10 * time.Second)
					x.wantNet(t, c.want)
					e, _ := x.dials.first(bus.Connected)
					if e.Peer == nil || e.Peer.Addr != c.peer {
						t.Errorf("connected: got %v, want the address %v", e, c.peer)
					}
					for name, m := range map[string]*member{"the side that listens": x.listens, side: x.dials} {
						if got, want := m.kinds(), []bus.EventKind{bus.Connected, bus.Subscribed}; !slices.Equal(got, want) {
							t.Errorf("events of %s: got %v, want %v", name, got, want)
						}
					}
					if other := otherAddress(c.peer); x.bed.net.Traffic(dialer, other).Messages > 0 {
						t.Errorf("%d messages went to %v, want none", x.bed.net.Traffic(dialer, other).Messages, other)
					}
				})
			})
		}
	}
}

func otherAddress(addr netip.AddrPort) netip.AddrPort {
	if addr == firstAddress {
		return secondAddress
	}
	return firstAddress
}

// wantNet compares what the network did.
func (x *dialBed) wantNet(t *testing.T, want []string) {
	t.Helper()
	x.mu.Lock()
	defer x.mu.Unlock()
	if !slices.Equal(x.net, want) {
		t.Errorf("network: got %q, want %q", x.net, want)
	}
}

// All addresses are dead: one event names them, and no further one says the same again.
func TestSubscriber_aHostOfWhichNoAddressAnswers(t *testing.T) {
	const want = "netio: open endpoint 10.1.0.1:7000: timed out\nnetio: open endpoint 10.1.0.2:7000: connection refused"
	for side, open := range dialedSides {
		t.Run(side, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				x := newDialBed(t)
				x.bed.net.Partition(dialer, firstAddress)
				x.bed.net.Refuse(secondAddress)
				open(x, netip.MustParseAddrPort("0.0.0.0:7000"), []netip.AddrPort{firstAddress, secondAddress})
				time.Sleep(time.Minute)
				if got := x.dials.kinds(); !slices.Equal(got, []bus.EventKind{bus.Refused}) {
					t.Fatalf("events: got %v, want one Refused", x.dials.events)
				}
				if e, at := x.dials.first(bus.Refused); e.Err.Error() != want || at.Sub(x.begun) != netio.DefaultConnectTimeout {
					t.Errorf("got %q after %v, want %q after %v", e.Err, at.Sub(x.begun), want, netio.DefaultConnectTimeout)
				}
			})
		})
	}
}

// A program that accepts connections and says nothing costs the time for a hello. The
// connection to the next address is made then, and not before.
func TestSubscriber_anAddressThatAcceptsAndSaysNothing(t *testing.T) {
	for side, open := range dialedSides {
		t.Run(side, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				x := newDialBed(t)
				m := x.member()
				mute, err := x.bed.net.Opener(m.loop, memnet.Config{Host: firstAddress.Addr()})(&stranger{})
				must(t, err)
				t.Cleanup(func() { must(t, mute.Close()); m.loop.Close() })
				_, err = mute.OpenListenEndpoint(firstAddress, netio.Params{})
				must(t, err)
				open(x, secondAddress, []netip.AddrPort{firstAddress, secondAddress})
				time.Sleep(time.Minute)
				if got, want := x.dials.kinds(), []bus.EventKind{bus.Connected, bus.Subscribed}; !slices.Equal(got, want) {
					t.Fatalf("events: got %v, want %v", x.dials.events, want)
				}
				e, at := x.dials.first(bus.Connected)
				if after := at.Sub(x.begun); e.Peer.Addr != secondAddress || after < 5*time.Second || after > 7*time.Second {
					t.Errorf("connected to %v after %v, want %v after the time for a hello", e.Peer.Addr, after, secondAddress)
				}
			})
		})
	}
}

// The side that dials ends at any moment of a try: nothing stays, and nothing is said.
func TestSubscriber_Close_whileAddressesAreDialed(t *testing.T) {
	for side, open := range dialedSides {
		for _, after := range []time.Duration{0, 100 * time.Millisecond, 250 * time.Millisecond, 300 * time.Millisecond, 400 * time.Millisecond} {
			t.Run(fmt.Sprint(side, " after ", after), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					x := newDialBed(t)
					x.bed.net.Partition(dialer, firstAddress)
					x.bed.net.SetDelay(secondAddress, dialer, 100*time.Millisecond)
					open(x, netip.MustParseAddrPort("0.0.0.0:7000"), []netip.AddrPort{firstAddress, secondAddress})
					time.Sleep(after)
					must(t, x.close())
					time.Sleep(time.Minute)
					for _, e := range x.dials.of(bus.Refused) {
						t.Errorf("got %v, want no refusal", e)
					}
					if got := x.listens.of(bus.Refused); len(got) > 0 {
						t.Errorf("the side that listens says %v, want nothing", got)
					}
				})
			})
		}
	}
}

// After a loss the address that worked comes first: a dead one costs nothing again.
func TestSubscriber_theAddressThatWorkedIsTriedFirst(t *testing.T) {
	for side, open := range dialedSides {
		t.Run(side, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				x := newDialBed(t)
				x.bed.net.Partition(dialer, firstAddress)
				open(x, netip.MustParseAddrPort("0.0.0.0:7000"), []netip.AddrPort{firstAddress, secondAddress})
				time.Sleep(10 * time.Second)
				x.mu.Lock()
				x.net = nil
				x.mu.Unlock()
				x.bed.net.Reset(dialer, secondAddress)
				time.Sleep(10 * time.Second)
				x.mu.Lock()
				defer x.mu.Unlock()
				if len(x.net) != 2 || !strings.HasSuffix(x.net[1], "established 10.1.0.2:7000") {
					t.Errorf("got %q, want the end of a connection and another one, to %v", x.net, secondAddress)
				}
			})
		})
	}
}
