// SPDX-License-Identifier: Apache-2.0

//go:build linux

package shm_test

import (
	"errors"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"

	"tagbus/internal/testkit/backendtest"
	"tagbus/netio"
	"tagbus/netio/reactor"
	"tagbus/netio/shm"
)

func TestDefaultFolderIsThisUsersAlone(t *testing.T) {
	dir := folder(t)
	shm.SetFolders(t, dir, dir)
	if _, err := listen(t, shm.Config{}, "10.0.0.1:1"); err != nil {
		t.Fatalf("OpenListenEndpoint in the default folder: got error %v, want none", err)
	}
	own := filepath.Join(dir, fmt.Sprintf("tagbus-%d", os.Geteuid()))
	if got := names(t, own); len(got) != 1 {
		t.Errorf("names in the default folder: got %q, want one", got)
	}
	if err := os.Chmod(own, 0o750); err != nil {
		t.Fatal(err)
	}
	if _, err := listen(t, shm.Config{}, "10.0.0.1:2"); !errors.Is(err, shm.ErrFolder) {
		t.Errorf("OpenListenEndpoint in a default folder that the group may use: got error %v, want %v", err, shm.ErrFolder)
	}
}

// A host is left as it was. Programs that begin and end at once do not disturb each other.
func TestDefaultFolderGoesWithItsLastSocket(t *testing.T) {
	dir := folder(t)
	shm.SetFolders(t, dir, dir)
	const backends, times = 4, 50
	failed := make(chan error, backends)
	for i := range backends {
		b, _ := backendtest.Open(t, reactor.Config{}, netio.NopHandler{}, opener(shm.Config{}))
		go func() {
			for range times {
				l, err := b.OpenListenEndpoint(netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 0, 0, byte(1 + i)}), 1), netio.Params{})
				if err != nil {
					failed <- err
					return
				}
				_ = l.Close()
				ended := make(chan struct{}) // in a turn of the loop
				b.Loop().Post(func() { b.Loop().Post(func() { close(ended) }) })
				<-ended
			}
			failed <- b.Close()
		}()
	}
	for range backends {
		if err := <-failed; err != nil {
			t.Errorf("a backend that begins to listen, and ends: got error %v, want none", err)
		}
	}
	if got := names(t, dir); len(got) != 0 {
		t.Errorf("names where the default folder was: got %q, want none", got)
	}
}

// A user's folder comes with its first session, and a service may have begun before.
func TestDefaultFoldersAreAllLookedInto(t *testing.T) {
	users, temporary := folder(t), folder(t)
	shm.SetFolders(t, users, temporary)
	w := newWatcher()
	if _, err := listen(t, shm.Config{}, "127.4.5.6:1"); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(users, strconv.Itoa(os.Geteuid())), 0o700); err != nil {
		t.Fatal(err)
	}
	b, _ := backendtest.Open(t, reactor.Config{}, w, opener(shm.Config{}))
	for _, want := range []error{nil, netio.ErrElsewhere} {
		addr := netip.MustParseAddrPort("127.4.5.6:1")
		if want != nil {
			addr = netip.MustParseAddrPort("127.4.5.6:2")
		}
		if err := b.OpenEndpoint(addr, netio.Params{}); err != nil {
			t.Fatal(err)
		}
		select {
		case <-w.Established:
			if want != nil {
				t.Errorf("%v: connected, want %v", addr, want)
			}
		case err := <-w.Refused:
			if want == nil || !errors.Is(err, want) {
				t.Errorf("%v: got %v, want %v", addr, err, want)
			}
		}
	}
	if _, err := listen(t, shm.Config{}, "127.4.5.6:3"); err != nil {
		t.Fatal(err)
	}
	if got := names(t, filepath.Join(users, strconv.Itoa(os.Geteuid()), "tagbus")); len(got) != 1 {
		t.Errorf("names in the folder of the user: got %q, want one", got)
	}
}

// defaultFolders sets where default folders are, until the end of the test, and returns that of the user, which
// is missing, and the one that all users share.
func defaultFolders(t *testing.T) (home, temporary string) {
	t.Helper()
	users, temporary := folder(t), folder(t)
	shm.SetFolders(t, users, temporary)
	return filepath.Join(users, strconv.Itoa(os.Geteuid())), temporary
}

// beginSession makes the folder of the user, as the system does at the first session.
func beginSession(t *testing.T, home string) {
	t.Helper()
	if err := os.Mkdir(home, 0o700); err != nil {
		t.Fatal(err)
	}
}

// reach dials a listen endpoint.
func reach(t *testing.T, b netio.Backend, w *backendtest.Watcher, addr string) {
	t.Helper()
	if err := b.OpenEndpoint(netip.MustParseAddrPort(addr), netio.Params{}); err != nil {
		t.Fatalf("OpenEndpoint: got error %v, want none", err)
	}
	select {
	case <-w.Established:
	case err := <-w.Refused:
		t.Errorf("%s: got it refused, %v, want it connected", addr, err)
	}
}

// The first session of a user begins when a service runs already.
func TestDefaultFolder_thatComesLater(t *testing.T) {
	home, _ := defaultFolders(t)
	w := newWatcher()
	b, _ := backendtest.Open(t, reactor.Config{}, w, opener(shm.Config{}))
	beginSession(t, home)
	if _, err := listen(t, shm.Config{}, "127.4.5.6:1"); err != nil {
		t.Fatal(err)
	}
	reach(t, b, w, "127.4.5.6:1")
	if _, err := b.OpenListenEndpoint(netip.MustParseAddrPort("127.4.5.6:2"), netio.Params{}); err != nil {
		t.Fatalf("OpenListenEndpoint: got error %v, want none", err)
	}
	if got := names(t, filepath.Join(home, "tagbus")); len(got) != 2 {
		t.Errorf("names in the folder of the user: got %q, want both", got)
	}
}

// The system removes the folder of a user at the end of the last session, and services go on.
func TestDefaultFolder_thatGoes(t *testing.T) {
	home, temporary := defaultFolders(t)
	beginSession(t, home)
	w := newWatcher()
	b, _ := backendtest.Open(t, reactor.Config{}, w, opener(shm.Config{}))
	if err := os.Remove(home); err != nil {
		t.Fatal(err)
	}
	l, err := b.OpenListenEndpoint(netip.MustParseAddrPort("127.4.5.6:1"), netio.Params{})
	if err != nil {
		t.Fatalf("OpenListenEndpoint: got error %v, want none", err)
	}
	if got := names(t, temporary); len(got) != 1 {
		t.Errorf("folders in the one that all users share: got %q, want one", got)
	}
	reach(t, b, w, "127.4.5.6:1")
	_ = l.Close()
	if err := b.Close(); err != nil {
		t.Errorf("Close: got error %v, want none", err)
	}
	if got := names(t, temporary); len(got) != 0 {
		t.Errorf("folders in the one that all users share, after the end: got %q, want none", got)
	}
}

// A program that was killed has left its socket in one of the folders, and the next one listens in the other.
func TestDefaultFolder_ofADeadSocket(t *testing.T) {
	home, _ := defaultFolders(t)
	if _, err := listen(t, shm.Config{}, "127.4.5.6:1"); err != nil {
		t.Fatal(err)
	}
	beginSession(t, home)
	dead := filepath.Join(home, "tagbus")
	if err := os.Mkdir(dead, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, addr := range []string{"127.4.5.6:1", "127.4.5.6:2"} {
		leaveSocket(t, filepath.Join(dead, addr))
	}
	w := newWatcher()
	b, _ := backendtest.Open(t, reactor.Config{}, w, opener(shm.Config{}))
	reach(t, b, w, "127.4.5.6:1")
	if err := b.OpenEndpoint(netip.MustParseAddrPort("127.4.5.6:2"), netio.Params{}); err != nil {
		t.Fatalf("OpenEndpoint: got error %v, want none", err)
	}
	if err := next(t, "OnConnectionRefused", w.Refused); !errors.Is(err, syscall.ECONNREFUSED) || errors.Is(err, netio.ErrElsewhere) {
		t.Errorf("a dead socket alone: got %v, want %v", err, syscall.ECONNREFUSED)
	}
}
