// SPDX-License-Identifier: Apache-2.0

package observer_test

import (
	"errors"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"tagbus/bus"
	"tagbus/bus/observer"
	"tagbus/bus/state"
	"tagbus/netio"
)

// Greet tells what answers at an address, and how long that took.
func TestWhatAnswersAtAnAddress(t *testing.T) {
	const rtt = 200 * time.Millisecond
	daq := observer.Greeting{Protocol: observer.ProtocolVersion, Instance: "stranger", Name: "daq", Host: "felix1", PID: 7, Connected: rtt, Took: 2 * rtt}
	tests := []struct {
		name  string
		reply map[byte][][]byte
		quits bool
		cut   bool // no connection
		want  observer.Greeting
		err   error
		text  string
	}{
		{"a program of tagbus", answers(t, "stranger", "{}"), false, false, daq, nil, ""},
		{"another version of the protocol", map[byte][][]byte{'T': {hello2(t)}}, false, false, observer.Greeting{Protocol: observer.ProtocolVersion + 1, Connected: rtt, Took: 2 * rtt}, nil, ""},
		{"an older version", refusal(t, "no\x1b"), false, false, observer.Greeting{Protocol: observer.ProtocolVersion, Refused: `no\x1b`, Connected: rtt, Took: 2 * rtt}, nil, ""},
		{"another program", map[byte][][]byte{'T': {[]byte("HTTP/1.1 400")}}, false, false, observer.Greeting{Connected: rtt, Took: 2 * rtt}, observer.ErrNotTagbus, "observer: what listens there is no tagbus program: subscription: "},
		{"a damaged refusal", map[byte][][]byte{'T': {{0x15, 0xc0}}}, false, false, observer.Greeting{Connected: rtt, Took: 2 * rtt}, observer.ErrNotTagbus, "refused message"},
		{"a program that says nothing", nil, false, false, observer.Greeting{Connected: rtt, Took: 5 * time.Second}, observer.ErrNotTagbus, "it takes connections and says nothing within 5s"},
		{"a program that closes the connection", nil, true, false, observer.Greeting{Connected: rtt, Took: 2 * rtt}, observer.ErrNotTagbus, "it closes the connection: EOF"},
		{"nothing", nil, false, true, observer.Greeting{Took: 5 * time.Second}, observer.ErrTimeout, "observer: no answer in time: no connection within 5s"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBed(t)
				e := b.listen(&stranger{reply: test.reply, quits: test.quits})
				o, host := b.observer(observer.Config{})
				from, to := anyPort(host), anyPort(e.Addresses[0].Addr())
				b.net.SetDelay(from, to, rtt/2)
				b.net.SetDelay(to, from, rtt/2)
				if test.cut {
					b.net.Partition(from, to)
				}
				for range 2 {
					got, err := o.Greet(t.Context(), e, e.Addresses[0])
					if got != test.want || !errors.Is(err, test.err) || err != nil && !strings.Contains(err.Error(), test.text) {
						t.Errorf("got %+v and error %v, want %+v and %v", got, err, test.want, test.err)
					}
				}
				time.Sleep(10 * time.Second)
				if open := b.connections(host).now; open != 0 {
					t.Errorf("got %d open connections, want none", open)
				}
			})
		})
	}
}

// Greet works beside a connection that is kept, and several times at once.
func TestGreetBesideOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t)
		p := b.publisher(bus.PublisherConfig{Common: bus.Common{Name: "daq"}})
		o, _ := b.observer(observer.Config{})
		e := b.entry(p.Instance())
		_, err := o.Ask(t.Context(), e, state.Question{})
		must(t, err)
		var wg sync.WaitGroup
		for range 5 {
			wg.Go(func() {
				g, err := o.Greet(t.Context(), e, p.Addr())
				if err != nil || g.Instance != p.Instance() || g.Name != "daq" {
					t.Errorf("got %+v and error %v, want %s", g, err, p.Instance())
				}
			})
			wg.Go(func() {
				_, err := o.Greet(t.Context(), e, netip.MustParseAddrPort("10.9.0.1:1"))
				if op := (*netio.OpError)(nil); !errors.As(err, &op) {
					t.Errorf("where nothing listens: got error %v, want a *netio.OpError", err)
				}
			})
		}
		wg.Wait()
		if _, err = o.Greet(t.Context(), e, netip.AddrPort{}); !errors.Is(err, netio.ErrInvalidAddress) {
			t.Errorf("no address: got error %v, want %v", err, netio.ErrInvalidAddress)
		}
	})
}

// What is of another transport is not dialed.
func TestAnotherBackendIsNamed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t)
		p := b.publisher(bus.PublisherConfig{})
		o, _ := b.observer(observer.Config{})
		e := b.entry(p.Instance())
		e.Backend = "rdma:verbs"
		want := bus.BackendError{Theirs: "rdma:verbs", Ours: "memory"}
		_, err := o.Ask(t.Context(), e, state.Question{})
		_, greetErr := o.Greet(t.Context(), e, p.Addr())
		for _, err := range []error{err, greetErr} {
			if other := (*bus.BackendError)(nil); !errors.As(err, &other) || *other != want {
				t.Errorf("got error %v, want %v", err, &want)
			}
		}
	})
}

// The loopback address of another host leads to this one.
func TestTheLoopbackAddressOfAnotherHost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t)
		o, _ := b.observer(observer.Config{})
		e := b.listen(&stranger{})
		e.Host, e.Addresses = "another host", []netip.AddrPort{netip.MustParseAddrPort("127.0.0.1:9")}
		_, err := o.Ask(t.Context(), e, state.Question{})
		if loop := (*bus.LoopbackError)(nil); !errors.As(err, &loop) || loop.Host != "another host" || loop.Err == nil {
			t.Errorf("got error %v, want a *bus.LoopbackError", err)
		}
	})
}

// A question with more than a message has room for is refused before it is asked.
func TestTooManyTagsAreNamed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t)
		p := b.publisher(bus.PublisherConfig{})
		o, _ := b.observer(observer.Config{})
		_, err := o.Ask(t.Context(), b.entry(p.Instance()), state.Question{Tags: scattered(20_000)})
		if !errors.Is(err, observer.ErrTooManyTags) {
			t.Errorf("got error %v, want %v", err, observer.ErrTooManyTags)
		}
		if _, err = o.Ask(t.Context(), b.entry(p.Instance()), state.Question{Tags: scattered(state.MaxTags)}); err != nil {
			t.Errorf("with %d tags: got error %v, want none", state.MaxTags, err)
		}
	})
}
