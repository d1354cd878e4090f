// SPDX-License-Identifier: Apache-2.0

//go:build linux

package filewatch_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"tagbus/internal/filewatch"
)

// TestAFileThatIsAPipeForALook: the look waited for the other end of the pipe for ever, and
// with it all later looks: what was revoked then stayed valid.
func TestAFileThatIsAPipeForALook(t *testing.T) {
	special := map[string]func(path string) error{
		"a pipe":      func(path string) error { return syscall.Mkfifo(path, 0o600) },
		"a directory": func(path string) error { return os.Mkdir(path, 0o700) },
		"a device":    func(path string) error { return os.Symlink("/dev/zero", path) },
	}
	for name, make := range special {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "n")
			write(t, path, "1")
			k, err := filewatch.Open(filewatch.Config[int]{Paths: []string{path}, MaxBytes: 10, Make: number})
			if err != nil {
				t.Fatal(err)
			}
			defer k.Close()
			if err := errors.Join(os.Remove(path), make(path)); err != nil {
				t.Fatal(err)
			}
			err = k.Reload()
			if got := (*filewatch.SpecialError)(nil); !errors.As(err, &got) || !strings.Contains(err.Error(), path+": it is "+name) {
				t.Errorf("Reload: got error %v, want one that says that it is %s", err, name)
			}
			if err := os.Remove(path); err != nil {
				t.Fatal(err)
			}
			write(t, path, "2")
			if err := k.Reload(); err != nil || k.Current() != 2 {
				t.Errorf("Reload of a file again: got %d and error %v, want 2", k.Current(), err)
			}
		})
	}
}
