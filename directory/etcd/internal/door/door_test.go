// SPDX-License-Identifier: Apache-2.0

package door

import (
	"io"
	"net"
	"net/netip"
	"os"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"tagbus/directory/etcd/internal/guard"
	"tagbus/identity"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// The kernel's tables, as a machine of the other order of bytes would not write them, and lines that
// are none.
func TestUsers(t *testing.T) {
	if endOf("0100007F:1F90") != netip.MustParseAddrPort("127.0.0.1:8080") {
		t.Skip("needs a machine that has the low bytes first")
	}
	table := `  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 0100007F:1F90 0100007F:D431 01 00000000:00000000 00:00000000 00000000     0        0 1 1 0 20 4 30 10 -1
   1: 0100007F:D431 0100007F:1F90 06 00000000:00000000 00:00000000 00000000     0        0 2 1 0 20 4 30 10 -1
   2: 0100007F:D431 0100007F:1F90 01 00000000:00000000 00:00000000 00000000  1000        0 3 1 0 20 4 30 10 -1
   3: 0000000000000000FFFF00000100007F:D432 0000000000000000FFFF00000100007F:1F90 01 00000000:00000000 00:00000000 00000000  1001        0 4 1
   4: ZZ:1 :: 01
`
	to := netip.MustParseAddrPort("127.0.0.1:8080")
	for from, want := range map[string]int{"127.0.0.1:54321": 1000, "127.0.0.1:54322": 1001, "127.0.0.1:8080": -1, "127.0.0.1:1": -1} {
		uid, ok := userIn(strings.NewReader(table), netip.MustParseAddrPort(from), to)
		if ok != (want >= 0) || ok && uid != want {
			t.Errorf("%s: got %d, %t, want %d", from, uid, ok, want)
		}
	}
}

// FuzzUserIn reads tables. A line about another connection never counts.
func FuzzUserIn(f *testing.F) {
	f.Add("0: 0100007F:D431 0100007F:1F90 01 0:0 0:0 0 1000 0 3\n")
	f.Add("0: 0100007F:D431\n\n: : : : : : : :")
	f.Fuzz(func(t *testing.T, table string) {
		if uid, ok := userIn(strings.NewReader(table), netip.MustParseAddrPort("10.0.0.1:5"), netip.MustParseAddrPort("10.0.0.2:6")); ok && !strings.Contains(table, "01") {
			t.Errorf("got %d of %q, want none", uid, table)
		}
	})
}

func TestRanksOfCertificates(t *testing.T) {
	named := func(name string) identity.Principal {
		p, err := identity.NewPrincipal(name)
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	own := func() identity.Principal { return named("dns:directory-1") }
	r, err := NewRoster([]string{"cn:ops *"}, []string{"dns:spare-*"}, own, func() []string { return []string{"Directory-2", "10.0.0.7", "localhost"} })
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]guard.Rank{
		"dns:directory-1": guard.Administrator, "cn:ops 3": guard.Administrator, "dns:spare-1": guard.Joiner, "dns:directory-2": guard.Member,
		"cn:directory-2": guard.Client, "dns:directory-3": guard.Client, "cn:10.0.0.7": guard.Client, "dns:localhost": guard.Client, "anonymous": guard.Client, "uri:dns:directory-1": guard.Client,
	} {
		if got := r.certified(named(name)); got != want {
			t.Errorf("%s: got rank %d, want %d", name, got, want)
		}
	}
	if _, err := NewRoster([]string{"ops"}, nil, own, nil); err == nil || !strings.Contains(err.Error(), "ops") {
		t.Errorf("a name without a kind: got %v, want an error that names it", err)
	}
}

func TestRanksOfAddresses(t *testing.T) {
	r, err := NewRoster(nil, []string{"10.1.0.0/16", "10.2.0.1"}, nil, func() []string { return []string{"10.3.0.1", "fe80::1%eth0"} })
	if err != nil {
		t.Fatal(err)
	}
	for at, want := range map[string]guard.Rank{
		"10.1.2.3": guard.Joiner, "::ffff:10.1.2.3": guard.Joiner, "10.2.0.1": guard.Joiner, "10.3.0.1": guard.Member, "fe80::1%eth1": guard.Member, "10.4.0.1": guard.Client,
	} {
		if got := r.remote(netip.MustParseAddr(at)); got != want {
			t.Errorf("%s: got rank %d, want %d", at, got, want)
		}
	}
	for _, bad := range []string{"", "dns:*", "10.0.0.0/33", "a b", "host:2379"} {
		if _, err := NewRoster(nil, []string{bad}, nil, nil); err == nil {
			t.Errorf("%q: got nil, want an error", bad)
		}
	}
}

// opened returns a door without TLS.
func opened(t *testing.T) *Door {
	t.Helper()
	return openedFor(t, Config{Split: true, Most: 2 * maxGreeting})
}

// openedFor returns a door at a port of this host.
func openedFor(t *testing.T, c Config) *Door {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	r, err := NewRoster(nil, nil, nil, func() []string { return []string{"127.0.0.1"} })
	if err != nil {
		t.Fatal(err)
	}
	c.Listener, c.Roster = l, r
	d, err := Open(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	})
	return d
}

func dial(t *testing.T, d *Door, first string) net.Conn {
	t.Helper()
	return dialFrom(t, d, "127.0.0.1", first)
}

// dialFrom dials from an address of this host, and says something.
func dialFrom(t *testing.T, d *Door, host, first string) net.Conn {
	t.Helper()
	dialer := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(host)}}
	c, err := dialer.DialContext(t.Context(), "tcp", d.config.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	if _, err := io.WriteString(c, first); err != nil {
		t.Fatal(err)
	}
	return c
}

// What a connection begins with says where it goes, and nothing of it is lost.
func TestADoorSplits(t *testing.T) {
	t.Parallel()
	d := opened(t)
	for first, to := range map[string]net.Listener{"PRI * HTTP/2.0": d.RPC, "GET / HTTP/1.1": d.HTTP, "POST / HTTP/1.1": d.HTTP, "PUT /": d.HTTP} {
		dial(t, d, first)
		c, err := to.Accept()
		if err != nil {
			t.Fatal(err)
		}
		got := make([]byte, len(first))
		if _, err := io.ReadFull(c, got); err != nil || string(got) != first {
			t.Errorf("got %q, %v, want %q", got, err, first)
		}
		at, ok := c.RemoteAddr().(*guard.Addr)
		if !ok || os.Geteuid() != overflow && at.Caller.Rank() != guard.Administrator || !strings.HasPrefix(at.Caller.String(), "anonymous (127.0.0.1:") {
			t.Errorf("got %v, want the user of this process", c.RemoteAddr())
		}
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	}
	if _, err := dial(t, d, "\x16\x03\x01").Read(make([]byte, 1)); err == nil {
		t.Error("a client that speaks TLS: got bytes, want the end")
	}
}

// Connections that say nothing give way, the oldest first, and keep no other one out.
func TestTheSilentGiveWay(t *testing.T) {
	t.Parallel()
	d := opened(t)
	first := dial(t, d, "")
	for range maxGreeting {
		dial(t, d, "")
	}
	if _, err := first.Read(make([]byte, 1)); err == nil {
		t.Error("got bytes, want the end of the oldest one")
	}
	dial(t, d, "PRI")
	c, err := d.RPC.Accept()
	if err != nil {
		t.Fatal(err)
	}
	_ = c.Close()
}
