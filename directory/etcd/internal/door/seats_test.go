// SPDX-License-Identifier: Apache-2.0

package door

import (
	"errors"
	"io"
	"net"
	"os"
	"testing"
	"testing/synctest"
	"time"
)

// The address of a caller that takes what it can, and of an honest one.
const (
	greedy = "127.0.0.2"
	modest = "127.0.0.3"
)

// accepted takes the next connection to a desk.
func accepted(t *testing.T, at net.Listener) net.Conn {
	t.Helper()
	type taken struct {
		net.Conn
		error
	}
	next := make(chan taken, 1)
	go func() {
		c, err := at.Accept()
		next <- taken{c, err}
	}()
	select {
	case c := <-next:
		if c.error != nil {
			t.Fatal(c.error)
		}
		t.Cleanup(func() { _ = c.Close() })
		return c
	case <-time.After(20 * time.Second):
		t.Fatal("got no connection, want one")
		return nil
	}
}

// isOpen reports whether the other end has closed nothing within a while.
func isOpen(t *testing.T, c net.Conn, while time.Duration) bool {
	t.Helper()
	if err := c.SetReadDeadline(time.Now().Add(while)); err != nil {
		t.Fatal(err)
	}
	_, err := c.Read(make([]byte, 1))
	return errors.Is(err, os.ErrDeadlineExceeded)
}

// A caller that takes all places and keeps them keeps no other one out: its own connections give way,
// that which has said nothing for longest first.
func TestAGreedyCallerGivesWay(t *testing.T) {
	t.Parallel()
	const most = 4
	d := openedFor(t, Config{Split: true, Most: most})
	honest := dialFrom(t, d, modest, "GET ")
	accepted(t, d.HTTP)
	var idle []net.Conn
	for range most - 1 {
		idle = append(idle, dialFrom(t, d, greedy, "GET "))
		accepted(t, d.HTTP)
	}
	dialFrom(t, d, "127.0.0.1", "PRI")
	accepted(t, d.RPC)
	if isOpen(t, idle[0], 20*time.Second) {
		t.Error("the greedy caller has all of its connections, want the oldest to end")
	}
	for range 2 * most {
		dialFrom(t, d, greedy, "GET ")
		accepted(t, d.HTTP)
	}
	if !isOpen(t, honest, 100*time.Millisecond) {
		t.Error("the connection of another caller has ended, want those of the greedy one to end")
	}
}

// Of connections that say nothing those of the address give way that has most of them.
func TestTheSilentOfOneAddressGiveWay(t *testing.T) {
	t.Parallel()
	d := opened(t)
	slow := dialFrom(t, d, modest, "")
	for range maxGreeting + 10 {
		dialFrom(t, d, greedy, "")
	}
	if _, err := io.WriteString(slow, "PRI"); err != nil {
		t.Fatal(err)
	}
	accepted(t, d.RPC)
}

// A connection that no server takes, as while a member is not ready, ends after a while.
func TestADeskGivesUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &Door{quit: make(chan struct{})}
		begun := time.Now()
		if newDesk(d).put(nil) {
			t.Error("got it taken, want it given up")
		}
		if took := time.Since(begun); took != greeting {
			t.Errorf("got it given up after %v, want %v", took, greeting)
		}
	})
}

// An IPv6 address is that of its network, of which a host has all addresses.
func TestNetworksOfCallers(t *testing.T) {
	for address, want := range map[string]string{"10.0.0.1": "10.0.0.1/32", "::ffff:10.0.0.1": "10.0.0.1/32", "2001:db8:0:1::2": "2001:db8:0:1::/64", "2001:db8:0:1:ff::": "2001:db8:0:1::/64"} {
		if got := networkOf(&net.TCPAddr{IP: net.ParseIP(address), Port: 5}); got.String() != want {
			t.Errorf("%s: got %v, want %s", address, got, want)
		}
	}
	if got := networkOf(&net.UnixAddr{}); got.IsValid() {
		t.Errorf("an address of another kind: got %v, want none", got)
	}
}
