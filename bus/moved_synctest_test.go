// SPDX-License-Identifier: Apache-2.0

package bus_test

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"tagbus/bus"
	"tagbus/bus/directory"
	"tagbus/bus/directory/memory"
	"tagbus/bus/state"
	"tagbus/internal/testkit/memnet"
	"tagbus/tags"
)

// addresses are those of a host, which the test changes.
type addresses struct {
	mu      sync.Mutex
	all     []netip.Addr
	err     error
	changed chan struct{}
	watched int
}

func newAddresses(texts ...string) *addresses {
	a := &addresses{changed: make(chan struct{}, 1)}
	a.set(texts...)
	return a
}

func (a *addresses) Addresses() ([]netip.Addr, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.all, a.err
}

func (a *addresses) All() ([]netip.Addr, error) { return a.Addresses() }

func (a *addresses) Watch() (changed <-chan struct{}, stop func()) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.watched++
	return a.changed, func() {
		a.mu.Lock()
		defer a.mu.Unlock()
		a.watched--
	}
}

// users returns how many watch.
func (a *addresses) users() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.watched
}

// set changes the addresses.
func (a *addresses) set(texts ...string) {
	a.mu.Lock()
	a.all = nil
	for _, text := range texts {
		a.all = append(a.all, netip.MustParseAddr(text))
	}
	a.mu.Unlock()
	select {
	case a.changed <- struct{}{}:
	default:
	}
}

var everywhere = netip.MustParseAddrPort("0.0.0.0:7000")

// announced returns the addresses and the monitor of the only entry of a role.
func announced(t *testing.T, dir directory.Directory) string {
	t.Helper()
	entries, err := dir.List()
	must(t, err)
	if len(entries) != 1 {
		t.Fatalf("got %d entries, want 1", len(entries))
	}
	return fmt.Sprint(entries[0].Addresses, entries[0].Monitor)
}

// A program that starts before the network is up announces loopback. It is announced, and
// reached, at the addresses that come later; so is the monitor of its process.
func TestPublisher_theNetworkComesUpLater(t *testing.T) {
	for side, open := range dialedSides {
		t.Run(side, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				x := newDialBed(t)
				x.addresses, x.monitor = newAddresses("127.0.0.1"), netip.MustParseAddrPort("0.0.0.0:9100")
				x.bed.net.Refuse(netip.MustParseAddrPort("127.0.0.1:7000"))
				open(x, everywhere, nil)
				time.Sleep(time.Minute)
				if got := announced(t, x.dir); got != "[127.0.0.1:7000] 127.0.0.1:9100" {
					t.Errorf("without network: got %s", got)
				}
				x.addresses.set("10.1.0.1", "127.0.0.1")
				begun := time.Now()
				time.Sleep(time.Second)
				if got := announced(t, x.dir); got != "[10.1.0.1:7000 127.0.0.1:7000] 10.1.0.1:9100" {
					t.Errorf("with network: got %s", got)
				}
				if _, at := x.listens.first(bus.Connected); at.Sub(begun) > time.Second || at.Before(begun) {
					t.Errorf("connected after %v, want within 1 s", at.Sub(begun))
				}
				if told := x.listens.of(bus.Announced); len(told) != 1 || told[0].String() != "announced as 10.1.0.1:7000, 127.0.0.1:7000" {
					t.Errorf("got the events %v, want one", told)
				}
				s, err := x.state(t.Context(), state.Question{})
				must(t, err)
				if strings.Join(s.Addresses, " ") != "10.1.0.1:7000 127.0.0.1:7000" || s.Monitor != "10.1.0.1:9100" {
					t.Errorf("got the state %v, %v", s.Addresses, s.Monitor)
				}
			})
		})
	}
}

// The address of a host changes, and nothing reaches the old one any more. The connection
// ends when it has been silent, and the next one goes to the new address.
func TestPublisher_anAddressChanges(t *testing.T) {
	for side, open := range dialedSides {
		t.Run(side, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				x := newDialBed(t)
				x.addresses = newAddresses("10.1.0.1")
				open(x, everywhere, nil)
				time.Sleep(time.Minute)
				x.bed.net.Partition(dialer, firstAddress)
				x.addresses.set("10.1.0.2")
				begun := time.Now()
				time.Sleep(time.Minute)
				connected := x.dials.of(bus.Connected)
				if len(connected) != 2 || connected[1].Peer.Addr.Addr() != secondAddress.Addr() {
					t.Fatalf("got %v, want a second connection, to %v", connected, secondAddress)
				}
				if took := x.dials.last(bus.Connected).Sub(begun); took > 10*time.Second {
					t.Errorf("connected again after %v, want the time of silence, 6 s, and little more", took)
				}
			})
		})
	}
}

// A connection that works stays when an address is added or taken away, and the other
// direction is told nothing.
func TestPublisher_aConnectionOutlivesOtherAddresses(t *testing.T) {
	for side, open := range dialedSides {
		t.Run(side, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				x := newDialBed(t)
				x.addresses = newAddresses("10.1.0.1")
				open(x, everywhere, nil)
				for _, all := range [][]string{{"10.1.0.1", "10.1.0.2"}, {"10.1.0.2"}, {}} {
					time.Sleep(time.Minute)
					x.addresses.set(all...)
				}
				time.Sleep(time.Minute)
				if got := x.dials.kinds(); slices.Contains(got, bus.Lost) {
					t.Errorf("got the events %v, want one connection", got)
				}
				if got := announced(t, x.dir); got != "[127.0.0.1:7000] invalid AddrPort" {
					t.Errorf("without any address: got %s", got)
				}
			})
		})
	}
}

// stubborn is a directory whose registrations fail to be updated now and then.
type stubborn struct {
	directory.Directory
	mu   sync.Mutex
	err  error        // of Update
	late func() error // what the last Update that failed wanted
}

type stubbornEntry struct {
	directory.Registration
	dir *stubborn
}

func (d *stubborn) Announce(e directory.Entry) (directory.Registration, error) {
	r, err := d.Directory.Announce(e)
	return &stubbornEntry{r, d}, err
}

func (d *stubborn) fail(err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.err = err
}

func (r *stubbornEntry) Update(e directory.Entry) error {
	r.dir.mu.Lock()
	err := r.dir.err
	if r.dir.late = nil; err != nil {
		r.dir.late = func() error { return r.Registration.Update(e) }
	}
	r.dir.mu.Unlock()
	if err != nil {
		return err
	}
	return r.Registration.Update(e)
}

// A directory that fails is asked again. What AddTags announces has the addresses of now.
// After the end of the publisher nothing watches the host.
func TestPublisher_aDirectoryFailsWhenAddressesChange(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t)
		m := b.member()
		dir, host := &stubborn{Directory: memory.New()}, newAddresses("10.1.0.1")
		cfg := bus.PublisherConfig{Tags: tags.Of(1), Listening: bus.Listening{Listen: everywhere}, Common: bus.Common{OnEvent: m.note}}
		bus.SetPublisherHost(&cfg, host)
		p, err := bus.NewPublisher(b.net.Opener(m.loop, memnet.Config{}), dir, cfg)
		must(t, err)
		defer m.loop.Close()
		dir.fail(errors.New("disk full"))
		host.set("10.1.0.2")
		time.Sleep(time.Second)
		if got := announced(t, dir); got != "[10.1.0.1:7000] invalid AddrPort" {
			t.Errorf("while it fails: got %s", got)
		}
		dir.fail(nil)
		must(t, p.AddTags(tags.Of(2)))
		if got := announced(t, dir); got != "[10.1.0.2:7000] invalid AddrPort" {
			t.Errorf("after AddTags: got %s", got)
		}
		time.Sleep(time.Minute)
		if got := len(m.of(bus.Announced)); got != 1 {
			t.Errorf("told %d times, want once", got)
		}
		if host.users() != 1 {
			t.Errorf("got %d that watch the host, want 1", host.users())
		}
		must(t, p.Close())
		synctest.Wait()
		if host.users() != 0 {
			t.Error("the host is watched after Close")
		}
	})
}

// Of a host with more addresses than an entry names, some are announced, which is told once.
func TestPublisher_aHostWithHundredsOfAddresses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := newDialBed(t)
		var all []string
		for n := range 300 {
			all = append(all, fmt.Sprintf("10.1.%d.%d", n/250, n%250+1))
		}
		x.addresses = newAddresses(append(all, "127.0.0.1")...)
		dialedSides["subscriber"](x, everywhere, nil)
		time.Sleep(time.Second)
		x.addresses.set(append(all[1:], "127.0.0.1")...)
		time.Sleep(time.Second)
		entries, err := x.dir.List()
		must(t, err)
		if got := entries[0].Addresses; len(got) != directory.MaxAddresses || got[0].Addr().String() != all[1] {
			t.Errorf("got %v, want the first %d", got, directory.MaxAddresses)
		}
		problems := x.listens.of(bus.Problem)
		if limit := (*bus.AddressLimitError)(nil); len(problems) != 1 || !errors.As(problems[0].Err, &limit) || limit.Has != 301 {
			t.Errorf("got the problems %v, want one", problems)
		}
	})
}

// A program that announces what it was told does not look at the host.
func TestPublisher_whatIsAdvertisedDoesNotFollowTheHost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := newDialBed(t)
		x.addresses, x.monitor = newAddresses("10.1.0.2"), netip.MustParseAddrPort("0.0.0.0:9100")
		x.addresses.err = errors.New("not to be asked")
		dialedSides["subscriber"](x, everywhere, []netip.AddrPort{firstAddress})
		time.Sleep(time.Second)
		if got := announced(t, x.dir); got != "[10.1.0.1:7000] 10.1.0.1:9100" || x.addresses.users() != 0 {
			t.Errorf("got %s and %d that watch, want neither changed", got, x.addresses.users())
		}
	})
}
