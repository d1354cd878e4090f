// SPDX-License-Identifier: Apache-2.0

package stuck

import (
	"errors"
	"io/fs"
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

// TestReadFile_endless: a file that is read as a whole is not read for ever.
func TestReadFile_endless(t *testing.T) {
	const endless = "/dev/zero"
	want := &fs.PathError{Op: "read", Path: endless, Err: ErrTooLarge}
	for name, read := range map[string]func() error{
		"ReadFile":        func() error { _, err := ReadFile(endless); return err },
		"LoadX509KeyPair": func() error { _, err := LoadX509KeyPair(endless, endless); return err },
	} {
		if err := read(); !errors.Is(err, ErrTooLarge) || err.Error() != want.Error() {
			t.Errorf("%s: got error %v, want %v", name, err, want)
		}
	}
}
