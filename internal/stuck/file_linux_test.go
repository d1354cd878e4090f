// SPDX-License-Identifier: Apache-2.0

package stuck

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// TestFIFOsAreNotWaitedFor: to wait for the other end is no fault of a file system.
func TestFIFOsAreNotWaitedFor(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	f.Aside()
	if f.kind != never {
		t.Error("its calls are waited for, want not")
	}
}
