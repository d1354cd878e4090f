// SPDX-License-Identifier: Apache-2.0

//go:build linux

package shm

import (
	"errors"
	"net/netip"
	"os"
	"path/filepath"
	"testing"
)

// TestListenIn_aFolderThatIsExchanged: between two calls of the system the last process that used a default folder
// may remove it, and another user may put something else there.
func TestListenIn_aFolderThatIsExchanged(t *testing.T) {
	temporary, other := t.TempDir(), t.TempDir()
	SetFolders(t, filepath.Join(temporary, "none"), temporary)
	cfg := Config{}.withDefaults()
	if err := cfg.openFolder(); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(cfg.Folder); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(other, cfg.Folder); err != nil {
		t.Fatal(err)
	}
	if _, _, _, err := cfg.listenIn(netip.MustParseAddrPort("127.0.0.1:0")); !errors.Is(err, ErrFolder) {
		t.Errorf("got error %v, want %v", err, ErrFolder)
	}
	if left, err := os.ReadDir(other); err != nil || len(left) > 0 {
		t.Errorf("left behind in the other folder: %v, %v, want nothing", left, err)
	}
}
