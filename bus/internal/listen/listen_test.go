// SPDX-License-Identifier: Apache-2.0

package listen_test

import (
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tagbus/bus/internal/advertise"
	"tagbus/bus/internal/listen"
	"tagbus/bus/internal/ways"
	"tagbus/netio"
)

// backend is one with some addresses. At others it cannot listen.
type backend struct {
	netio.Backend
	name string
	has  []string
	err  error // of all others; nil: netio.ErrInvalidAddress
}

func (b *backend) Name() string { return b.name }

func (b *backend) OpenListenEndpoint(addr netip.AddrPort, _ netio.Params) (netio.ListenEndpoint, error) {
	for _, has := range b.has {
		if has == addr.Addr().String() {
			return opened{netip.AddrPortFrom(addr.Addr(), 4000+addr.Port())}, nil
		}
	}
	if b.err != nil {
		return nil, b.err
	}
	return nil, fmt.Errorf("%w: %v", netio.ErrInvalidAddress, addr)
}

// opened is a listener with its real port.
type opened struct{ at netip.AddrPort }

func (o opened) Addr() netip.AddrPort { return o.at }

func (opened) Close() error { return nil }

// within is a backend within the host.
type within struct{ backend }

func (*within) NewName() netip.AddrPort { return netip.MustParseAddrPort("127.9.9.9:0") }

func place(backend, at string, advertised ...string) (p listen.Place) {
	p = listen.Place{Backend: backend, Listen: netip.MustParseAddrPort(at)}
	for _, addr := range advertised {
		p.Advertise = append(p.Advertise, netip.MustParseAddrPort(addr))
	}
	return p
}

func TestPlaces(t *testing.T) {
	tcp := &backend{name: "tcp", has: []string{"10.0.0.1", "0.0.0.0"}}
	shm := &within{backend{name: "shm", has: []string{"127.9.9.9"}}}
	broken := &within{backend{name: "shm", err: errors.New("no memory")}}
	card0 := &backend{name: "rdma:verbs@0", has: []string{"10.1.0.1", "0.0.0.0"}}
	card1 := &backend{name: "rdma:verbs@1", has: []string{"10.1.0.2", "0.0.0.0"}}
	one := place("", "10.0.0.1:1", "192.0.2.1:0")
	for _, x := range []struct {
		name     string
		backends ways.Backends
		also     []listen.Place
		def      listen.Place
		want     []string // kind, address, and what is advertised, of each
		at       string
		problems string
		err      string
	}{
		{name: "one backend", backends: ways.Backends{tcp}, def: one, want: []string{"tcp 10.0.0.1:4001 [192.0.2.1:0]"}, at: "10.0.0.1:4001"},
		{
			name: "one within the host chooses a name", backends: ways.Backends{shm, tcp}, def: one,
			want: []string{"shm 127.9.9.9:4000 []", "tcp 10.0.0.1:4001 [192.0.2.1:0]"}, at: "10.0.0.1:4001",
		},
		{
			name: "that one is not needed", backends: ways.Backends{broken, tcp}, def: one,
			want: []string{"tcp 10.0.0.1:4001 [192.0.2.1:0]"}, at: "10.0.0.1:4001", problems: "shm: no memory",
		},
		{
			name: "unless it is named", backends: ways.Backends{broken, tcp}, def: one, also: []listen.Place{place("shm", "127.0.0.7:1")}, err: "no memory",
		},
		{name: "the last one is needed", backends: ways.Backends{shm, tcp}, def: place("", "10.9.9.9:1"), err: "10.9.9.9"},
		{
			name: "places of a backend", backends: ways.Backends{shm, tcp}, def: one, also: []listen.Place{place("tcp", "0.0.0.0:2"), place("tcp", "10.0.0.1:3")},
			want: []string{"shm 127.9.9.9:4000 []", "tcp 0.0.0.0:4002 []", "tcp 10.0.0.1:4003 []"}, at: "0.0.0.0:4002",
		},
		{
			name: "a backend that is not there", backends: ways.Backends{tcp}, def: one, also: []listen.Place{place("quic", "10.0.0.1:1")},
			err: `Also: the backend is "quic", and there is tcp`,
		},
		{
			name: "a kind is the device that has the address", backends: ways.Backends{card0, card1, tcp}, def: one, also: []listen.Place{place("rdma:verbs", "10.1.0.2:1")},
			want: []string{"rdma:verbs 10.1.0.2:4001 []", "tcp 10.0.0.1:4001 [192.0.2.1:0]"}, at: "10.0.0.1:4001",
		},
		{
			name: "or all of them", backends: ways.Backends{card0, card1}, def: one, also: []listen.Place{place("rdma:verbs", "0.0.0.0:1")},
			want: []string{"rdma:verbs 0.0.0.0:4001 []", "rdma:verbs 0.0.0.0:4001 []"}, at: "0.0.0.0:4001",
		},
		{
			name: "no device has the address", backends: ways.Backends{card0, card1, tcp}, def: one, also: []listen.Place{place("rdma:verbs", "10.1.0.3:1")}, err: "10.1.0.3",
		},
		{
			name: "a device that is named has to have it", backends: ways.Backends{card0, card1, tcp}, def: one, also: []listen.Place{place("rdma:verbs@0", "10.1.0.2:1")}, err: "10.1.0.2",
		},
	} {
		t.Run(x.name, func(t *testing.T) {
			var problems []string
			places := listen.Places{Default: x.def, Also: x.also}
			listeners, at, err := places.Open(x.backends, netio.Params{}, func(backend string, err error) {
				problems = append(problems, backend+": "+err.Error())
			})
			if x.err != "" {
				if err == nil || !strings.Contains(err.Error(), x.err) || listeners != nil || at != nil {
					t.Errorf("got %v, %v, want an error with %q", listeners, err, x.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(x.want, texts(listeners)); diff != "" || at.Addr().String() != x.at {
				t.Errorf("-want +got, the last one at %v, want %s:\n%s", at.Addr(), x.at, diff)
			}
			if got := strings.Join(problems, ", "); got != x.problems {
				t.Errorf("got the problems %q, want %q", got, x.problems)
			}
		})
	}
}

func texts(listeners []advertise.Listener) (all []string) {
	for _, l := range listeners {
		all = append(all, fmt.Sprintf("%s %v %v", l.Backend, l.Listen, l.Advertise))
	}
	return all
}

func TestBackendError(t *testing.T) {
	places := listen.Places{Also: []listen.Place{place("shm", "10.0.0.1:1")}}
	_, _, err := places.Open(ways.Backends{&backend{name: "tcp"}}, netio.Params{}, nil)
	var unknown *listen.BackendError
	if !errors.As(err, &unknown) || unknown.Backend != "shm" || unknown.There != "tcp" {
		t.Errorf("got %v, want a *BackendError of shm", err)
	}
}
