// SPDX-License-Identifier: Apache-2.0

package bus_test

import (
	"context"
	"errors"
	"net/netip"
	"slices"
	"testing"
	"testing/synctest"

	"tagbus/bus"
	"tagbus/bus/directory"
	"tagbus/bus/state"
	"tagbus/tags"
)

func TestPublisherConfig_Validate_anAddressThatCannotBeAnnounced(t *testing.T) {
	addr := netip.MustParseAddrPort
	many := make([]netip.AddrPort, directory.MaxAddresses+1)
	tests := []struct {
		name      string
		advertise []netip.AddrPort
		want      string // empty: they can be announced
	}{
		{"none", nil, ""},
		{"some", []netip.AddrPort{addr("10.0.0.1:7000"), addr("[fd00::1]:7000"), addr("127.0.0.1:1")}, ""},
		{"without port", []netip.AddrPort{addr("10.0.0.1:0")}, ""},
		{"as many as there can be", slices.Repeat([]netip.AddrPort{addr("10.0.0.1:7000")}, directory.MaxAddresses), ""},
		{"too many", many, "bus: invalid configuration: Advertise: got 65 addresses, want at most 64"},
		{"unspecified", []netip.AddrPort{addr("10.0.0.1:0"), addr("0.0.0.0:7000")}, "bus: invalid configuration: Advertise: 0.0.0.0:7000 cannot be dialled; announce the addresses of this host's interfaces"},
		{"unspecified without port", []netip.AddrPort{addr("[::]:0")}, "bus: invalid configuration: Advertise: [::]:0 cannot be dialled; announce the addresses of this host's interfaces"},
		{"a group", []netip.AddrPort{addr("224.0.0.1:7000")}, "bus: invalid configuration: Advertise: 224.0.0.1:7000 must be unicast"},
		{"none at all", []netip.AddrPort{{}}, "bus: invalid configuration: Advertise: an address is missing"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			for _, err := range []error{
				bus.PublisherConfig{Tags: tags.Of(1), Listening: bus.Listening{Advertise: test.advertise}}.Validate(),
				bus.ReceiverConfig{Tags: tags.Of(1), Listening: bus.Listening{Advertise: test.advertise}}.Validate(),
			} {
				switch {
				case test.want == "" && err == nil:
				case err == nil || err.Error() != test.want:
					t.Errorf("got %v, want %s", err, test.want)
				case !errors.Is(err, bus.ErrInvalidConfig) || !errors.As(err, new(*bus.AdvertiseError)):
					t.Errorf("got a %T, want an AdvertiseError and ErrInvalidConfig", err)
				}
			}
		})
	}
}

func TestPublisherConfig_Validate_aMonitorThatCannotBeAnnounced(t *testing.T) {
	addr := netip.MustParseAddrPort
	tests := []struct {
		name    string
		monitor netip.AddrPort
		want    string // empty: it can be announced
	}{
		{"none", netip.AddrPort{}, ""},
		{"one", addr("10.0.0.1:9100"), ""},
		{"of any interface", addr("0.0.0.0:9100"), ""},
		{"of any interface, IPv6", addr("[::]:9100"), ""},
		{"without port", addr("10.0.0.1:0"), "bus: invalid configuration: Monitor is 10.0.0.1:0, which has no port; announce the port that the listen endpoint got"},
		{"of any interface without port", addr("0.0.0.0:0"), "bus: invalid configuration: Monitor is 0.0.0.0:0, which has no port; announce the port that the listen endpoint got"},
		{"a group", addr("224.0.0.1:9100"), "bus: invalid configuration: Monitor is 224.0.0.1:9100, which must be unicast"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			for _, err := range []error{
				bus.PublisherConfig{Tags: tags.Of(1), Common: bus.Common{Monitor: test.monitor}}.Validate(),
				bus.ReceiverConfig{Tags: tags.Of(1), Common: bus.Common{Monitor: test.monitor}}.Validate(),
			} {
				if test.want == "" && err == nil {
					continue
				}
				if err == nil || err.Error() != test.want || !errors.Is(err, bus.ErrInvalidConfig) {
					t.Errorf("got %v, want %s", err, test.want)
				}
			}
		})
	}
}

// The monitor of a process stands in its entry, as long as that lasts, and in its state.
func TestPublisher_aMonitorIsAnnounced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t)
		as := []netip.AddrPort{netip.MustParseAddrPort("192.168.7.7:4711")}
		monitor := netip.MustParseAddrPort("0.0.0.0:9100")
		p := b.publisher(bus.PublisherConfig{Tags: tags.Of(1), Listening: bus.Listening{Advertise: as}, Common: bus.Common{Monitor: monitor}})
		r := b.receiver(bus.ReceiverConfig{Tags: tags.Of(2), Listening: bus.Listening{Advertise: as}, Common: bus.Common{Monitor: monitor}}, func(bus.Message) {})
		must(t, p.AddTags(tags.Of(3)))
		entries, err := b.dir.List()
		must(t, err)
		if len(entries) != 2 {
			t.Fatalf("got %d entries, want 2", len(entries))
		}
		const want = "192.168.7.7:9100"
		for _, e := range entries {
			if e.Monitor.String() != want {
				t.Errorf("got monitor %v of %s %s, want %s", e.Monitor, e.Role, e.Instance, want)
			}
		}
		for _, ask := range []func(context.Context, state.Question) (state.State, error){p.State, r.State} {
			s, err := ask(t.Context(), state.Question{})
			must(t, err)
			if s.Monitor != want {
				t.Errorf("got monitor %q in the state of the %s, want %s", s.Monitor, s.Role, want)
			}
		}
	})
}

// What is announced stands in the directory in the order of the configuration, with the
// bound port where it has none.
func TestPublisher_whatIsAnnounced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t)
		as := []netip.AddrPort{netip.MustParseAddrPort("192.168.7.7:4711"), netip.MustParseAddrPort("[fd00::7]:0")}
		p := b.publisher(bus.PublisherConfig{Tags: tags.Of(1), Listening: bus.Listening{Advertise: as}})
		r := b.receiver(bus.ReceiverConfig{Tags: tags.Of(2), Listening: bus.Listening{Advertise: as}}, func(bus.Message) {})
		entries, err := b.dir.List()
		must(t, err)
		for instance, port := range map[string]uint16{p.Instance(): p.Addr().Port(), r.Instance(): r.Addr().Port()} {
			i := slices.IndexFunc(entries, func(e directory.Entry) bool { return e.Instance == instance })
			want := []netip.AddrPort{as[0], netip.AddrPortFrom(as[1].Addr(), port)}
			if got := entries[i].Addresses; !slices.Equal(got, want) {
				t.Errorf("got %v, want %v", got, want)
			}
		}
		if as[1].Port() != 0 {
			t.Error("the configuration of the user has changed")
		}
	})
}
