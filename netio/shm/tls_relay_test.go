// SPDX-License-Identifier: Apache-2.0

//go:build linux

package shm_test

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"tagbus/internal/testkit/backendtest"
	"tagbus/internal/testkit/pki"
	"tagbus/netio"
	"tagbus/netio/reactor"
	"tagbus/netio/shm"
)

// A relay is a process of another user in a folder that several users share: it listens at relayName, and passes on
// what comes, with the files, to the socket of the publisher and back.
const (
	relayName = "127.9.9.9:9"
	relayUser = 65534
)

// runRelay is the process of a relay to an address.
func runRelay(folder, to string) error {
	unix.Umask(0)
	if err := unix.Setresuid(relayUser, relayUser, relayUser); err != nil {
		return err
	}
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: filepath.Join(folder, relayName), Net: "unix"})
	if err != nil {
		return err
	}
	fmt.Println("ready")
	for {
		from, err := l.AcceptUnix()
		if err != nil {
			return err
		}
		on, err := net.DialUnix("unix", nil, &net.UnixAddr{Name: filepath.Join(folder, to), Net: "unix"})
		if err != nil {
			return err
		}
		go pass(from, on)
		go pass(on, from)
	}
}

// pass passes on bytes and files until the end.
func pass(from, to *net.UnixConn) {
	defer func() { _ = to.Close() }()
	b, files := make([]byte, 64<<10), make([]byte, 1024)
	for {
		n, m, _, _, err := from.ReadMsgUnix(b, files)
		if err != nil || n == 0 {
			return
		}
		if _, _, err := to.WriteMsgUnix(b[:n], files[:m], nil); err != nil {
			return
		}
	}
}

// TestTLS_aRelayOfAnotherUser gets nothing, though both ends have certificates that are in order. Without certificates it
// would get all: what the test makes sure of first.
func TestTLS_aRelayOfAnotherUser(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root: the relay is a process of another user")
	}
	ca := pki.New(t, "ca")
	good := tlsOf(ca, ca.Issue(t, "good", nil))
	for name, cfg := range map[string]shm.Config{"plain": {}, "with certificates": {TLS: good}} {
		cfg.Folder = folder(t)
		if err := os.Chmod(cfg.Folder, 0o777|os.ModeSticky); err != nil {
			t.Fatal(err)
		}
		s := serve(t, cfg, netio.Params{})
		if err := os.Chmod(filepath.Join(cfg.Folder, s.l.Addr().String()), 0o777); err != nil {
			t.Fatal(err)
		}
		if ready := startChild(t, "relay", cfg.Folder, s.l.Addr().String()).line(t); ready != "ready" {
			t.Fatalf("relay: got %q", ready)
		}
		w := newWatcher()
		b, _ := backendtest.Open(t, reactor.Config{}, w, opener(cfg))
		if err := b.OpenEndpoint(netip.MustParseAddrPort(relayName), netio.Params{}); err != nil {
			t.Fatal(err)
		}
		if cfg.TLS == nil {
			next(t, "OnConnectionEstablished", w.Established)
			next(t, "OnConnectionEstablished", s.Established)
			continue
		}
		if err := next(t, "OnConnectionRefused", w.Refused); !errors.Is(err, shm.ErrOtherProcess) {
			t.Errorf("%s: got %v, want %v", name, err, shm.ErrOtherProcess)
		}
		if n := len(s.Established) + len(w.Established); n > 0 {
			t.Errorf("%s: got %d connections, want none", name, n)
		}
	}
}
