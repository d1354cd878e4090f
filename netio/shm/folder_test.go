// SPDX-License-Identifier: Apache-2.0

//go:build linux

package shm_test

import (
	"errors"
	"io"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"tagbus/internal/testkit/backendtest"
	"tagbus/netio"
	"tagbus/netio/reactor"
	"tagbus/netio/shm"
)

// listen opens a backend that listens on an address in a folder.
func listen(t *testing.T, cfg shm.Config, addr string) (netio.ListenEndpoint, error) {
	t.Helper()
	b, _ := backendtest.Open(t, reactor.Config{}, netio.NopHandler{}, opener(cfg))
	return b.OpenListenEndpoint(netip.MustParseAddrPort(addr), netio.Params{})
}

// names returns the names in a folder.
func names(t *testing.T, dir string) (all []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatalf("ReadDir: got error %v, want none", err)
	}
	for _, e := range entries {
		all = append(all, e.Name())
	}
	return all
}

// leaveSocket leaves a socket on which no process listens.
func leaveSocket(t *testing.T, path string) {
	t.Helper()
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatalf("socket: got error %v, want none", err)
	}
	defer func() { _ = unix.Close(fd) }()
	if err := unix.Bind(fd, &unix.SockaddrUnix{Name: path}); err != nil {
		t.Fatalf("bind: got error %v, want none", err)
	}
}

func TestAddressIsTheNameOfASocket(t *testing.T) {
	dir := folder(t)
	l, err := listen(t, shm.Config{Folder: dir}, "[::ffff:10.0.0.1]:1337")
	if err != nil {
		t.Fatalf("OpenListenEndpoint: got error %v, want none", err)
	}
	if got := names(t, dir); len(got) != 1 || got[0] != "10.0.0.1:1337" || l.Addr().String() != got[0] {
		t.Errorf("names in the folder: got %q, want 10.0.0.1:1337, which is the address: %v", got, l.Addr())
	}
}

func TestSocketsOfTheDeadAreReplaced(t *testing.T) {
	dir := folder(t)
	for _, name := range []string{"10.0.0.1:1", "10.0.0.1:2", ".77-1"} {
		leaveSocket(t, filepath.Join(dir, name))
	}
	if err := os.WriteFile(filepath.Join(dir, "file"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, addr := range []string{"10.0.0.1:1", "10.0.0.1:3"} {
		if _, err := listen(t, shm.Config{Folder: dir}, addr); err != nil {
			t.Errorf("OpenListenEndpoint(%s): got error %v, want none", addr, err)
		}
	}
	if got := strings.Join(names(t, dir), " "); got != "10.0.0.1:1 10.0.0.1:3 file" {
		t.Errorf("names in the folder: got %q, want those that live, and what is no socket", got)
	}
	leaveSocket(t, filepath.Join(dir, "10.0.0.1:4")) // left after a backend has looked
	b, _ := backendtest.Open(t, reactor.Config{}, netio.NopHandler{}, opener(shm.Config{Folder: dir}))
	for range 2 {
		l, err := b.OpenListenEndpoint(netip.MustParseAddrPort("10.0.0.1:4"), netio.Params{})
		if err != nil {
			t.Fatalf("OpenListenEndpoint of the address of a dead one: got error %v, want none", err)
		}
		_ = l.Close()
		onLoop(t, b.Loop(), func() {})
		onLoop(t, b.Loop(), func() {})
		leaveSocket(t, filepath.Join(dir, "10.0.0.1:4"))
	}
}

func TestWhatIsNoSocketIsNotReplaced(t *testing.T) {
	dir := folder(t)
	path := filepath.Join(dir, "10.0.0.1:1")
	if err := os.WriteFile(path, []byte("kept"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := listen(t, shm.Config{Folder: dir}, "10.0.0.1:1"); !errors.Is(err, syscall.EADDRINUSE) {
		t.Errorf("OpenListenEndpoint where a file is: got error %v, want %v", err, syscall.EADDRINUSE)
	}
	if got, err := os.ReadFile(path); err != nil || string(got) != "kept" {
		t.Errorf("the file: got %q, error %v, want it as it was", got, err)
	}
}

func TestFolderThatOthersCanWriteIsRefused(t *testing.T) {
	open := folder(t)
	if err := os.Chmod(open, 0o777); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(folder(t), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := listen(t, shm.Config{Folder: open}, "10.0.0.1:1"); !errors.Is(err, shm.ErrFolder) {
		t.Errorf("OpenListenEndpoint in a folder with mode 0777: got error %v, want %v", err, shm.ErrFolder)
	}
	if _, err := listen(t, shm.Config{Folder: file}, "10.0.0.1:1"); err == nil {
		t.Errorf("OpenListenEndpoint in a file: got no error, want one")
	}
	fresh := filepath.Join(folder(t), "a", "b")
	if _, err := listen(t, shm.Config{Folder: fresh}, "10.0.0.1:1"); err != nil {
		t.Errorf("OpenListenEndpoint in a folder that is missing: got error %v, want none", err)
	}
	if st, err := os.Stat(fresh); err != nil || st.Mode().Perm() != 0o700 {
		t.Errorf("the folder that was made: got mode %v, error %v, want 0700", st.Mode(), err)
	}
}

// In the default folder another user may have been faster.
func TestAnotherUserIsNotTrusted(t *testing.T) {
	for _, test := range []struct {
		folder string
		uid    int
		want   error
	}{
		{"", os.Geteuid(), nil},
		{"", 0, nil},
		{"", os.Geteuid() + 1, shm.ErrFolder},
		{"/run/tagbus", os.Geteuid() + 1, nil}, // who may write there is for those who made it
	} {
		if err := shm.Trusts(shm.Config{Folder: test.folder}, test.uid); !errors.Is(err, test.want) {
			t.Errorf("folder %q, user %d: got %v, want %v", test.folder, test.uid, err, test.want)
		}
	}
}

func TestNothingIsLeft(t *testing.T) {
	dir := folder(t)
	files, maps := backendtest.OpenFiles(t), mappings(t)
	func() {
		w, h := newWatcher(), newWatcher()
		loop := backendtest.StartLoop(t, reactor.Config{})
		var backends []netio.Backend
		for _, handler := range []netio.Handler{w, h} {
			b, err := shm.Opener(loop.EventLoop, shm.Config{Folder: dir})(handler)
			if err != nil {
				t.Fatalf("open: got error %v, want none", err)
			}
			backends = append(backends, b)
		}
		region, err := netio.AllocSharedRegion(1 << 20)
		if err != nil {
			t.Fatalf("AllocSharedRegion: got error %v, want none", err)
		}
		params := netio.Params{ZeroCopy: netio.ZeroCopyParams{Region: region}}
		l, err := backends[0].OpenListenEndpoint(netip.MustParseAddrPort("10.0.0.1:0"), params)
		if err != nil {
			t.Fatalf("OpenListenEndpoint: got error %v, want none", err)
		}
		if err := backends[1].OpenEndpoint(l.Addr(), params); err != nil {
			t.Fatalf("OpenEndpoint: got error %v, want none", err)
		}
		ep := next(t, "OnConnectionEstablished", h.Established)
		next(t, "OnConnectionEstablished", w.Established)
		if err := ep.Send(1, nil, region); err != nil {
			t.Fatalf("Send: got error %v, want none", err)
		}
		next(t, "OnData", w.Data)
		next(t, "OnSendCompleted", h.Completed)
		_ = ep.Close()
		if end := next(t, "OnConnectionClosed", w.Closed); end.Cause != io.EOF { //nolint:errorlint // io.EOF is promised unwrapped
			t.Errorf("cause: got %v, want %v", end.Cause, io.EOF)
		}
		for _, b := range backends {
			if err := b.Close(); err != nil {
				t.Errorf("Close: got error %v, want none", err)
			}
		}
		_ = netio.FreeRegion(region)
		loop.End(t)
		if err := loop.Close(); err != nil {
			t.Errorf("close the loop: got error %v, want none", err)
		}
	}()
	if got := backendtest.OpenFiles(t); got != files {
		t.Errorf("open files: got %d, want %d as before", got, files)
	}
	if got := mappings(t); got != maps {
		t.Errorf("mappings of shared memory: got %d, want %d as before", got, maps)
	}
	if got := names(t, dir); len(got) != 0 {
		t.Errorf("names in the folder: got %q, want none", got)
	}
}

// mappings returns the number of mappings of shared memory.
func mappings(t *testing.T) int {
	t.Helper()
	maps, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		t.Fatal(err)
	}
	return strings.Count(string(maps), "memfd:tagbus")
}
