// SPDX-License-Identifier: Apache-2.0

package bus_test

import (
	"errors"
	"fmt"
	"net/netip"
	"os"
	"testing"
	"testing/synctest"
	"time"

	"tagbus/bus"
	"tagbus/bus/directory"
	"tagbus/tags"
)

// elsewhere is the entry of a program on another host that is not there.
func elsewhere(addresses ...string) directory.Entry {
	e := directory.Entry{
		Instance: "elsewhere", Name: "felix", Host: "pc-07", PID: 4711, Backend: "memory",
		Tags: tags.Of(1), PageBytes: 1024, MaxMessageBytes: 1 << 20,
	}
	for _, address := range addresses {
		e.Addresses = append(e.Addresses, netip.MustParseAddrPort(address))
	}
	return e
}

// here is the name of the host of the test.
func here(t *testing.T) string {
	t.Helper()
	name, err := os.Hostname()
	must(t, err)
	return name
}

func TestPublisher_announcesALoopbackAddressToOtherHosts(t *testing.T) {
	for _, test := range []struct {
		name      string
		host      string
		addresses []string
		want      string // how the event ends; %s is this host
		loopback  bool
	}{
		{
			"of another host", "pc-07",
			[]string{"127.0.0.1:53100"},
			"bus: the publisher is on host pc-07 and announces only 127.0.0.1:53100, which no other host can reach; this is host %s: " +
				"set PublisherConfig.Listen to an address that this host can reach: netio: open endpoint 127.0.0.1:53100: connection refused", true,
		},
		{
			"of another host, two of them", "pc-07",
			[]string{"127.0.0.1:53100", "[::1]:53100"},
			"bus: the publisher is on host pc-07 and announces only 127.0.0.1:53100, [::1]:53100, which no other host can reach; this is host %s: " +
				"set PublisherConfig.Listen to an address that this host can reach: netio: open endpoint 127.0.0.1:53100: connection refused; netio: open endpoint [::1]:53100: connection refused", true,
		},
		{
			"of another host, and an address of its network", "pc-07",
			[]string{"127.0.0.1:53100", "10.9.9.9:53100"},
			"netio: open endpoint 127.0.0.1:53100: connection refused; netio: open endpoint 10.9.9.9:53100: connection refused", false,
		},
		{"of this host", "", []string{"127.0.0.1:53100"}, "netio: open endpoint 127.0.0.1:53100: connection refused", false},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBed(t)
				e := elsewhere(test.addresses...)
				want := "refused felix@pc-07:4711 (" + test.addresses[0] + "): " + test.want
				if test.loopback {
					want = fmt.Sprintf(want, here(t))
				}
				if e.Host = test.host; e.Host == "" {
					e.Host = here(t)
					want = "refused felix@" + here(t) + ":4711 (" + test.addresses[0] + "): " + test.want
				}
				_, err := b.dir.Announce(e)
				must(t, err)
				s := b.subscriber(bus.SubscriberConfig{})
				_, err = s.Subscribe(tags.Of(1), nil)
				must(t, err)
				time.Sleep(time.Second)
				refused := s.of(bus.Refused)
				if len(refused) != 1 || refused[0].String() != want {
					t.Fatalf("got %v, want one: %s", refused, want)
				}
				if loopback := (*bus.LoopbackError)(nil); errors.As(refused[0].Err, &loopback) != test.loopback {
					t.Errorf("got a *LoopbackError %v, want %v", !test.loopback, test.loopback)
				}
				time.Sleep(time.Hour)
				if again := len(s.of(bus.Refused)); test.loopback != (again > 5) || again > 12 {
					t.Errorf("got %d events in an hour, want 1, or some with a pause that grows if it cannot become better", again)
				}
			})
		})
	}
}

// The first reminders come after 10, 30 and 70 seconds, each with the next try, which is at
// most 5 seconds later.
func TestSubscriber_reportsARefusalThatLastsAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t)
		registered, err := b.dir.Announce(elsewhere("127.0.0.1:53100"))
		must(t, err)
		s := b.subscriber(bus.SubscriberConfig{})
		_, err = s.Subscribe(tags.Of(1), nil)
		must(t, err)
		for i, after := range []time.Duration{time.Second, 16 * time.Second, 45 * time.Second, 58 * time.Second} {
			time.Sleep(after)
			if got := len(s.of(bus.Refused)); got != i+1 {
				t.Fatalf("got %d events, want %d", got, i+1)
			}
		}
		p := b.publisher(bus.PublisherConfig{Tags: tags.Of(1)}) // another one, that can be reached
		e := elsewhere(p.Addr().String())
		must(t, registered.Update(e))
		time.Sleep(time.Minute)
		refused := s.of(bus.Refused)
		if len(refused) != 5 || errors.As(refused[4].Err, new(*bus.LoopbackError)) {
			t.Errorf("with another address: got %v, want one event more, with another reason", refused[4:])
		}
	})
}

func TestReceiver_announcesALoopbackAddressToOtherHosts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t)
		e := elsewhere("127.0.0.1:53100")
		e.Role, e.PageBytes, e.MaxMessageBytes = directory.Receiver, 64<<20, 64<<20
		_, err := b.dir.Announce(e)
		must(t, err)
		s := b.sender(bus.SenderConfig{Tags: tags.Of(1)})
		time.Sleep(time.Second)
		want := "refused felix@pc-07:4711 (127.0.0.1:53100): bus: the receiver is on host pc-07 and announces only 127.0.0.1:53100, which no other host can reach; this is host " + here(t) +
			": set ReceiverConfig.Listen to an address that this host can reach: netio: open endpoint 127.0.0.1:53100: connection refused"
		if refused := s.of(bus.Refused); len(refused) != 1 || refused[0].String() != want {
			t.Errorf("got %v, want one: %s", refused, want)
		}
	})
}
