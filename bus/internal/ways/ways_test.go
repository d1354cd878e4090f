// SPDX-License-Identifier: Apache-2.0

package ways_test

import (
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"syscall"
	"testing"

	"tagbus/bus/directory"
	"tagbus/bus/internal/dialer"
	"tagbus/bus/internal/ways"
	"tagbus/netio"
)

// backend has a name, and refuses to dial.
type backend struct {
	netio.Backend
	name string
}

func (b *backend) Name() string { return b.name }

func (b *backend) OpenEndpoint(addr netip.AddrPort, _ netio.Params) error {
	return &netio.OpError{Op: "open endpoint", Addr: addr, Err: syscall.ENOBUFS}
}

// within is one for processes of one host.
type within struct{ backend }

func (*within) NewName() netip.AddrPort { return netip.AddrPort{} }

// device is one of a device, which is near to the peers whose addresses begin as its name ends.
type device struct{ backend }

func (d *device) Near(addr netip.Addr) bool {
	_, name, _ := strings.Cut(d.name, "@")
	return name != "" && strings.HasPrefix(addr.String(), name)
}

// several is a netio.MultiBackend.
type several struct {
	netio.Backend
	all []netio.Backend
}

func (s *several) Backends() []netio.Backend { return s.all }

// ours returns backends of these names; shm is within the host.
func ours(names ...string) ways.Backends {
	s := &several{}
	for _, name := range names {
		b := backend{name: name}
		switch {
		case name == "shm":
			s.all = append(s.all, &within{b})
		case strings.HasPrefix(name, "rdma"):
			s.all = append(s.all, &device{b})
		default:
			s.all = append(s.all, &b)
		}
	}
	return ways.Of(s)
}

func at(text string) []netip.AddrPort { return []netip.AddrPort{netip.MustParseAddrPort(text)} }

var entry = directory.Entry{
	Ways:    []directory.Way{{Backend: "shm", Addresses: at("127.1.2.3:1")}, {Backend: "rdma:verbs", Addresses: at("10.0.0.1:2")}},
	Backend: "tcp", Addresses: at("10.0.0.1:3"),
}

func TestWhatIsDialed(t *testing.T) {
	for _, test := range []struct{ ours, want, sole string }{
		{"shm rdma:verbs tcp", "shm 127.1.2.3:1, rdma:verbs 10.0.0.1:2, tcp 10.0.0.1:3", "tcp 10.0.0.1:3"},
		{"tcp shm", "tcp 10.0.0.1:3, shm 127.1.2.3:1", "tcp 10.0.0.1:3"},
		{"tcp", "tcp 10.0.0.1:3", "tcp 10.0.0.1:3"},
		{"shm rdma:verbs", "shm 127.1.2.3:1, rdma:verbs 10.0.0.1:2", "rdma:verbs 10.0.0.1:2"},
		{"tls", "", ""},
	} {
		list := func(targets []dialer.Target) string {
			var all []string
			for _, to := range targets {
				all = append(all, fmt.Sprint(to.Backend, " ", to))
			}
			return strings.Join(all, ", ")
		}
		bs := ours(strings.Fields(test.ours)...)
		if got := list(bs.Targets("own", entry)); got != test.want {
			t.Errorf("%s: Targets: got %s, want %s", test.ours, got, test.want)
		}
		if got := list(bs.Sole(entry)); got != test.sole {
			t.Errorf("%s: Sole: got %s, want %s", test.ours, got, test.sole)
		}
	}
}

// A program shares memory if one of its backends can.
func TestSharingBackends(t *testing.T) {
	if all := ways.Of(&several{all: ours("shm", "tcp")}); all.Names() != "shm,tcp" || !all.Shares() || all.Last().Name() != "tcp" {
		t.Errorf("got %s, shares %t", all.Names(), all.Shares())
	}
	if ways.Of(&several{all: ours("rdma:verbs", "tcp")}).Shares() {
		t.Error("without shm: got true, want false")
	}
}

// An error of one of several backends says of which.
func TestErrorsNameTheBackend(t *testing.T) {
	to := dialer.Target{Backend: "shm", Addr: at("127.1.2.3:1")[0]}
	both, alone := ours("shm", "tcp"), ours("shm")
	err := both.Open(to, netio.Params{})
	if via := (*netio.ViaError)(nil); !errors.As(err, &via) || via.Backend != "shm" || !errors.Is(err, syscall.ENOBUFS) {
		t.Errorf("got %v, want that it was by shm", err)
	}
	if got := both.Refused(to.Addr, err); got != to {
		t.Errorf("Refused: got %v by %s, want %v", got, got.Backend, to)
	}
	if err := alone.Open(to, netio.Params{}); errors.As(err, new(*netio.ViaError)) {
		t.Errorf("of one backend: got %v, want it as it is", err)
	} else if got := alone.Refused(to.Addr, err); got != to {
		t.Errorf("Refused of one backend: got %v by %s, want %v", got, got.Backend, to)
	}
}

func TestWhatWasPassed(t *testing.T) {
	byName := dialer.Failure{Target: dialer.Target{Backend: "shm", Addr: entry.Ways[0].Addresses[0]}, Err: syscall.EACCES}
	byDevice := dialer.Failure{Target: dialer.Target{Backend: "rdma:verbs@a", Addr: entry.Ways[1].Addresses[0]}, Err: syscall.ENODEV}
	for _, test := range []struct{ ours, by, want string }{
		{"shm rdma:verbs tcp", "tcp", "[{shm permission denied} {rdma:verbs not tried}]"},
		{"shm tcp", "tcp", "[{shm permission denied} {rdma:verbs this program has only shm,tcp}]"},
		{"shm tcp", "shm", "[]"},
		{"shm rdma:verbs@a rdma:verbs@b tcp", "rdma:verbs@b", "[{shm permission denied} {rdma:verbs@a no such device}]"},
	} {
		failed := []dialer.Failure{byName}
		if strings.Contains(test.ours, byDevice.Backend) {
			failed = append(failed, byDevice, byDevice) // at two addresses
		}
		if got := fmt.Sprint(ours(strings.Fields(test.ours)...).Passed(entry, test.by, failed)); got != test.want {
			t.Errorf("%s by %s: got %s, want %s", test.ours, test.by, got, test.want)
		}
	}
}

func TestBackends_OnlyLoopback(t *testing.T) {
	all := ways.Backends{&backend{name: "tcp"}}
	entry := func(host, kind string, addresses ...string) (e directory.Entry) {
		e = directory.Entry{Host: host, Backend: kind}
		for _, addr := range addresses {
			e.Addresses = append(e.Addresses, netip.MustParseAddrPort(addr))
		}
		return e
	}
	for _, x := range []struct {
		name string
		e    directory.Entry
		want bool
	}{
		{"another host", entry("b", "tcp", "127.0.0.1:1", "[::ffff:127.0.0.1]:1"), true},
		{"this host", entry("a", "tcp", "127.0.0.1:1"), false},
		{"an entry without a host", entry("", "tcp", "127.0.0.1:1"), false},
		{"another address, too", entry("b", "tcp", "127.0.0.1:1", "10.0.0.1:1"), false},
		{"another backend", entry("b", "rdma", "127.0.0.1:1"), false},
		{"no address", entry("b", "tcp"), false},
	} {
		if got := all.OnlyLoopback(x.e, "a"); got != x.want {
			t.Errorf("%s: got %v, want %v", x.name, got, x.want)
		}
	}
	if all.OnlyLoopback(entry("b", "tcp", "127.0.0.1:1"), "") {
		t.Error("a host that is not known is another one")
	}
}
