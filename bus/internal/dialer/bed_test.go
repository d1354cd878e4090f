// SPDX-License-Identifier: Apache-2.0

package dialer_test

import (
	"fmt"
	"io"
	"net/netip"
	"strings"
	"testing"
	"time"

	"tagbus/bus/internal/dialer"
	"tagbus/internal/alarm"
	"tagbus/internal/testkit/memnet"
	"tagbus/netio"
)

const (
	least = 100 * time.Millisecond
	most  = 5 * time.Second
	hello = 4 * time.Second
)

// errAt is the failure of a connection to an address.
func errAt(n int) error { return fmt.Errorf("refused by %d", n) }

// at returns the address of a number: up to 99 those of one backend, up to 199 of another one. From 500
// on they are names within the host, and from 600 on each is dialed from a device of its own.
func at(n int) dialer.Target {
	if n >= 600 {
		return dialer.Target{Backend: fmt.Sprintf("backend 6@%d", n), Addr: netip.AddrPortFrom(netip.IPv4Unspecified(), uint16(n))}
	}
	return dialer.Target{Backend: fmt.Sprint("backend ", n/100), Addr: netip.AddrPortFrom(netip.IPv4Unspecified(), uint16(n))}
}

// backends are those of the targets: one is within the host, another one has devices.
type backends struct{}

func (backends) Within(name string) bool { return name == "backend 5" }
func (backends) Spread(name string) bool { return netio.Kind(name) == "backend 6" }

// bed is a dialer on a loop.
type bed struct {
	dialer.Dialer
	alarms alarm.Clock
	loop   *memnet.Loop
}

func newBed(t *testing.T) *bed {
	t.Helper()
	b := &bed{loop: memnet.NewLoop()}
	t.Cleanup(b.loop.Close)
	if err := alarm.Open(&b.alarms, b.loop.NewTimer); err != nil {
		t.Fatal(err)
	}
	b.Dialer = dialer.NewDialer(&b.alarms, least, most, hello, backends{})
	return b
}

// user has a contact, and notes what it is asked and told.
type user struct {
	dialer.Contact
	b       *bed
	wanted  bool
	refuses int // so many of the next calls of Open fail
	got     []string
	stamp   func() string // in front of each; nil: nothing
	woken   []time.Time
	missed  []time.Time
}

// user returns one with so many addresses, which wants a connection.
func (b *bed) user(addresses int) *user {
	u := &user{b: b, wanted: true}
	for n := range addresses {
		u.Addresses = append(u.Addresses, at(n+1))
	}
	b.Prepare(&u.Contact, u)
	return u
}

// do runs f on the loop.
func (u *user) do(f func()) { u.b.loop.Do(f) }

func (u *user) note(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	if u.stamp != nil {
		text = u.stamp() + text
	}
	u.got = append(u.got, text)
}

func (u *user) Open(addr dialer.Target) error {
	u.note("open %d", addr.Addr.Port())
	if u.refuses > 0 {
		u.refuses--
		return errAt(int(addr.Addr.Port()))
	}
	return nil
}

func (u *user) Wanted() bool { return u.wanted }

func (u *user) Woken() {
	u.note("woken %s", u.state())
	u.woken = append(u.woken, time.Now())
	if u.wanted {
		u.Dial()
	}
}

func (u *user) Tried(err error) {
	u.note("tried, %s, %s", strings.ReplaceAll(fmt.Sprint(err), "\n", " and "), u.state())
}

func (u *user) HelloMissed() {
	u.note("missed")
	u.missed = append(u.missed, time.Now())
}

// state names the states that the contact reports.
func (u *user) state() (s string) {
	for _, x := range []struct {
		name string
		is   bool
	}{
		{"idle", u.Idle()},
		{"dialing", u.Pending() && !u.Greeting() && !u.Ready()},
		{"greeting", u.Greeting()},
		{"ready", u.Ready()},
		{"waiting", u.Waiting()},
	} {
		if x.is {
			s += x.name
		}
	}
	return s
}

// connect dials, and says hello to the peer, whose answer is good.
func (u *user) connect() {
	u.Dial()
	u.up(1)
	u.Greeted()
}

// up establishes the connection to an address.
func (u *user) up(n int) {
	if !u.Established(at(n)) {
		u.note("surplus %d", n)
	}
}

// lose ends the connection, as the user of a contact does.
func (u *user) lose() {
	if u.Closed() {
		u.Retry()
	} else {
		u.Refused(io.EOF)
	}
}
