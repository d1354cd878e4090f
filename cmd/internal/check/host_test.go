// SPDX-License-Identifier: Apache-2.0

package check

import (
	"errors"
	"net/netip"
	"os"
	"path/filepath"
	"testing"
	"testing/fstest"

	"tagbus/bus/directory/file"
)

func TestTheSettingsOfAHost(t *testing.T) {
	root := fstest.MapFS{
		"proc/self/limits": {Data: []byte(`Limit                     Soft Limit           Hard Limit           Units
Max locked memory         unlimited            unlimited            bytes
Max open files            20000                20000                files
`)},
		"proc/sys/net/ipv4/tcp_rmem":               {Data: []byte("4096\t131072\t33554432\n")},
		"proc/sys/net/ipv4/tcp_wmem":               {Data: []byte("4096 16384 many\n")},
		"proc/sys/net/core/somaxconn":              {Data: []byte("4096\n")},
		"proc/sys/net/ipv4/tcp_congestion_control": {Data: []byte("bbr\n")},
	}
	want := hostSeen{openFiles: 20000, lockedMemory: unlimited, receive: 33554432, send: -1, backlog: 4096, congestion: "bbr"}
	if got := lookAtHost(root); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if got, want := lookAtHost(fstest.MapFS{}), (hostSeen{-1, -1, -1, -1, -1, ""}); got != want {
		t.Errorf("got %+v of a system that tells nothing, want %+v", got, want)
	}
	if got := lookAtHost(os.DirFS("/")); got.openFiles <= 0 || got.congestion == "" {
		t.Errorf("got %+v of this host, want at least its open files and congestion control", got)
	}
}

func TestWhichAddressesAreOfThisHost(t *testing.T) {
	own := ownAddresses()
	for text, want := range map[string]bool{"127.0.0.1": true, "127.9.9.9": true, "::1": true, "::ffff:127.0.0.1": true, "192.0.2.1": false} {
		if got := isLocal(netip.MustParseAddr(text), own); got != want {
			t.Errorf("%s: got %v, want %v", text, got, want)
		}
	}
	for a := range own {
		if !isLocal(a, own) {
			t.Errorf("%v: got false, want true: it is of an interface", a)
		}
	}
}

// A look makes a file that directories pass over, and leaves none behind.
func TestALookAtAFolderLeavesNothingBehind(t *testing.T) {
	folder := t.TempDir()
	if err := os.WriteFile(filepath.Join(folder, "README"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	s := lookAtFolder(folder, file.Config{})
	if s.err != nil || s.write != nil || !s.timed || s.unknown != nil || s.survey.Names != 1 {
		t.Errorf("got %+v, want a folder with one name that can be written", s)
	}
	if off := s.ahead.Abs() - s.about; off > clockSlack {
		t.Errorf("got a clock that differs by %v, want that of this host", off)
	}
	left, err := os.ReadDir(folder)
	if err != nil || len(left) != 1 {
		t.Errorf("got %v, %v, want README only", left, err)
	}
	if s := lookAtFolder(filepath.Join(folder, "none"), file.Config{}); !errors.Is(s.err, file.ErrVanished) {
		t.Errorf("got %v, want ErrVanished", s.err)
	}
}
