// SPDX-License-Identifier: Apache-2.0

package contact_test

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"tagbus/bus/directory"
	"tagbus/bus/internal/contact"
	"tagbus/bus/internal/dialer"
	"tagbus/bus/internal/ways"
	"tagbus/bus/state"
	"tagbus/internal/alarm"
	"tagbus/internal/testkit/memnet"
	"tagbus/netio"
)

var (
	errStale    = errors.New("stale")
	errNoWay    = errors.New("no way")
	errLoopback = errors.New("loopback")
	errRefused  = errors.New("refused")
)

var words = contact.Words[string]{
	Stale: errStale,
	Peer:  func(e directory.Entry, at dialer.Target) string { return fmt.Sprint(e.Name, " ", at.Backend, " ", at) },
	NoWay: func(x contact.NoWay) error { return errors.Join(fmt.Errorf("%w by %s", errNoWay, x.Ours), x.Err) },
	Loopback: func(x contact.Loopback) error {
		return errors.Join(fmt.Errorf("%w, on %s", errLoopback, x.Ours), x.Err)
	},
}

// backend has a name, and opens what it is told.
type backend struct {
	netio.Backend
	name string
	err  error
}

func (b *backend) Name() string { return b.name }

func (b *backend) OpenEndpoint(netip.AddrPort, netio.Params) error { return b.err }

// within is one for processes of one host.
type within struct{ backend }

func (*within) NewName() netip.AddrPort { return netip.AddrPort{} }

// connection is one of a backend.
type connection struct {
	netio.Endpoint
	backend, remote string
	closed          bool
}

func (c *connection) Backend() string        { return c.backend }
func (c *connection) Remote() netip.AddrPort { return netip.MustParseAddrPort(c.remote) }

func (c *connection) Close() error {
	c.closed = true
	return nil
}

// bed is a contact on a loop.
type bed struct {
	contact.Contact[string]
	own    contact.Own
	dialer dialer.Dialer
	told   []string
	tried  error
}

func newBed(t *testing.T, backends ...netio.Backend) *bed {
	t.Helper()
	loop, alarms := memnet.NewLoop(), new(alarm.Clock)
	t.Cleanup(loop.Close)
	if err := alarm.Open(alarms, loop.NewTimer); err != nil {
		t.Fatal(err)
	}
	b := &bed{own: contact.Own{Instance: "own", Host: "here", Backends: ways.Backends(backends)}}
	b.dialer = dialer.NewDialer(alarms, time.Second, time.Second, time.Second, b.own.Backends)
	b.dialer.Prepare(&b.Contact.Contact, b)
	b.Init(&b.own, &words, func(peer string, why error) { b.told = append(b.told, fmt.Sprint(peer, ": ", why)) })
	return b
}

func (b *bed) Open(to dialer.Target) error { return b.Contact.Open(&b.dialer, to, netio.Params{}) }
func (*bed) Wanted() bool                  { return true }
func (*bed) Woken()                        {}
func (b *bed) Tried(err error)             { b.tried = err }
func (*bed) HelloMissed()                  {}

func (b *bed) expect(t *testing.T, want ...string) {
	t.Helper()
	if d := cmp.Diff(want, b.told); d != "" {
		t.Errorf("told (-want +got):\n%s", d)
	}
	b.told = nil
}

func entry(backend string, addresses ...string) directory.Entry {
	e := directory.Entry{Instance: "that", Name: "x", Host: "there", Backend: backend}
	for _, at := range addresses {
		e.Addresses = append(e.Addresses, netip.MustParseAddrPort(at))
	}
	return e
}

func TestContact_tellsOnceWhyThereIsNoConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t, &backend{name: "tcp"})
		b.List(entry("tcp", "10.0.0.1:1"))
		for range 3 {
			b.Refuse(errRefused)
			b.Failed(errRefused)
			time.Sleep(time.Hour)
		}
		b.expect(t, "x tcp 10.0.0.1:1: refused")
		b.Refuse(errStale)
		b.Refuse(errRefused)
		b.expect(t, "x tcp 10.0.0.1:1: stale", "x tcp 10.0.0.1:1: refused")
		b.Take(&connection{backend: "tcp", remote: "10.0.0.1:1"})
	})
}

// What no later try can do better is told again from time to time.
func TestContact_Failed_ofAnotherHostsLoopback(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t, &backend{name: "tcp"})
		b.List(entry("tcp", "127.0.0.1:1"))
		for range 100 {
			b.Failed(errRefused)
			time.Sleep(time.Second)
		}
		if n := len(b.told); n < 2 || n > 10 || b.told[0] != "x tcp 127.0.0.1:1: loopback, on here\nrefused" {
			t.Errorf("got %q, want it now and then", b.told)
		}
		b.told = nil
		for range 100 { // told as any other reason, it is told once
			b.Refuse(errLoopback)
			time.Sleep(time.Second)
		}
		b.expect(t, "x tcp 127.0.0.1:1: loopback")
	})
}

func TestContact_Failed_withinTheHostOnly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t, &within{backend{name: "shm"}}, &backend{name: "tls"})
		e := entry("tcp", "10.0.0.1:1")
		e.Ways = []directory.Way{{Backend: "shm", Addresses: []netip.AddrPort{netip.MustParseAddrPort("127.0.0.2:2")}}}
		b.List(e)
		b.Failed(fmt.Errorf("open: %w", netio.ErrElsewhere))
		b.Failed(errRefused)
		b.expect(t, "x shm 127.0.0.2:2: no way by shm,tls", "x shm 127.0.0.2:2: no way by shm,tls\nrefused")
	})
}

func TestContact_Speakable(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t, &backend{name: "tcp"})
		b.List(entry("tcp", "10.0.0.1:1"))
		if !b.Speakable(nil) || b.Speakable(errRefused) {
			t.Error("got another answer than whether the sizes fit")
		}
		b.List(entry("rdma", "10.0.0.1:1"))
		if b.Speakable(nil) || b.Speakable(errRefused) {
			t.Error("without a way: got true, want false")
		}
		b.expect(t, "x tcp 10.0.0.1:1: refused", "x  10.0.0.1:1: no way by tcp")
	})
}

func TestContact_Open_whereAnotherPeerIs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tcp := &backend{name: "tcp"}
		b := newBed(t, tcp)
		b.List(entry("tcp", "10.0.0.1:1"))
		to := dialer.Target{Backend: "tcp", Addr: netip.MustParseAddrPort("10.0.0.1:1")}
		tcp.err = netio.ErrEndpointExists
		if err := b.Open(to); !errors.Is(err, netio.ErrEndpointExists) {
			t.Errorf("got %v, want ErrEndpointExists: no contact is connected there", err)
		}
		tcp.err = nil
		b.Dial()
		if !b.Take(&connection{backend: "tcp", remote: "10.0.0.1:1"}) {
			t.Fatal("the connection is not that of the contact")
		}
		b.Welcome()
		tcp.err = netio.ErrEndpointExists
		if err := b.Open(to); err != errStale { //nolint:errorlint // bare
			t.Errorf("got %v, want that the entry is stale", err)
		}
	})
}

func TestContact_itsConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t, &within{backend{name: "shm", err: errRefused}}, &backend{name: "tcp"})
		e := entry("tcp", "10.0.0.1:1", "10.0.0.2:1")
		e.Ways = []directory.Way{{Backend: "shm", Addresses: []netip.AddrPort{netip.MustParseAddrPort("127.0.0.2:2")}}}
		b.List(e)
		b.Refuse(errRefused)
		b.Dial()
		first, second := &connection{backend: "tcp", remote: "10.0.0.1:1"}, &connection{backend: "tcp", remote: "10.0.0.2:1"}
		if !b.Take(first) || b.Take(second) || first.closed || !second.closed {
			t.Errorf("got closed %v and %v, want the first connection alone", first.closed, second.closed)
		}
		if b.Connected() || b.Peer != "x tcp 10.0.0.1:1" || b.Ep != first {
			t.Errorf("before the hello: connected %v to %s", b.Connected(), b.Peer)
		}
		b.Welcome()
		if !b.Connected() || b.Refusal != "" {
			t.Errorf("after the hello: connected %v, refusal %q", b.Connected(), b.Refusal)
		}
		if got, want := b.PassedWays("tcp"), []state.PassedWay{{Backend: "shm", Reason: "by shm: refused"}}; !slices.Equal(got, want) {
			t.Errorf("passed ways: got %v, want %v", got, want)
		}
		if !b.Lose() || b.Connected() || b.Ep != nil {
			t.Error("after the end it is connected")
		}
		b.Rest()
		b.Entry = directory.Entry{Name: "y"}
		b.TakeDialed(second)
		b.Welcome()
		if !b.Connected() || b.Peer != "y tcp 10.0.0.2:1" || b.PassedWays("tcp") != nil {
			t.Errorf("one that has dialed: connected %v to %s, passed %v", b.Connected(), b.Peer, b.PassedWays("tcp"))
		}
	})
}

func TestRefusals_Text(t *testing.T) {
	at := []netip.AddrPort{netip.MustParseAddrPort("127.0.0.1:1"), netip.MustParseAddrPort("127.0.0.1:2")}
	for _, test := range []struct{ got, want string }{
		{contact.NoWay{Theirs: "rdma", Ours: "tcp"}.Text(), `bus: publisher speaks "rdma", this subscriber "tcp": use the same backend for both, here "rdma" (node.Config.Backend)`},
		{contact.NoWay{Role: directory.Receiver, Theirs: "tls", Ours: "shm,tcp", Err: errRefused}.Text(), `bus: receiver speaks "tls", this sender "shm,tcp": use the same backend for both, here "tls" (node.Config.Backend); refused`},
		{contact.Loopback{Role: directory.Receiver, Host: "there", Ours: "here", Addresses: at, Err: errRefused}.Text(), "bus: the receiver is on host there and announces only 127.0.0.1:1, 127.0.0.1:2, which no other host can reach; this is host here: set ReceiverConfig.Listen to an address that this host can reach: refused"},
	} {
		if test.got != test.want {
			t.Errorf("got %q, want %q", test.got, test.want)
		}
	}
}
