// SPDX-License-Identifier: Apache-2.0

package stuck

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"tagbus/internal/testkit"
)

// TestFilesAreUsed: what is written is read again, by each way, and no wait is left.
func TestFilesAreUsed(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	f, err := OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	must(err)
	_, err = f.Write([]byte("one "))
	must(err)
	_, err = f.WriteString("two ")
	must(err)
	_, err = io.Copy(f, strings.NewReader("three"))
	must(err)
	_, err = f.WriteAt([]byte("ONE"), 0)
	must(err)
	f.Aside()
	must(f.Sync())
	must(f.Chmod(0o644))
	must(f.Truncate(11))
	info, err := f.Stat()
	must(err)
	_, err = f.Seek(0, io.SeekStart)
	must(err)
	var all bytes.Buffer
	_, err = io.Copy(&all, f)
	must(err)
	must(f.Close())
	if got, want := all.String(), "ONE two thr"; got != want || info.Size() != int64(len(want)) {
		t.Errorf("got %q and %d bytes, want %q", got, info.Size(), want)
	}
	again, err := ReadFile(path)
	must(err)
	if !bytes.Equal(again, all.Bytes()) {
		t.Errorf("got %q, want %q", again, all.Bytes())
	}
	if isWaitedFor(path) {
		t.Errorf("%s is waited for still", path)
	}
}

// TestOpenToLock: to be written, if it may be; and nothing is made.
func TestOpenToLock(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	if _, err := OpenToLock(path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("got %v, want none to be made", err)
	}
	testkit.Must(t, os.WriteFile(path, []byte("text"), 0o600))
	for _, mode := range []fs.FileMode{0o600, 0o400} {
		testkit.Must(t, os.Chmod(path, mode))
		f, err := OpenToLock(path)
		testkit.Must(t, err)
		if err := f.Truncate(4); err != nil && mode == 0o600 {
			t.Errorf("got %v, want a file that is open to be written", err)
		}
		if text, err := f.ReadWhole(); err != nil || string(text) != "text" {
			t.Errorf("%v: got %q, %v, want what is in it", mode, text, err)
		}
		testkit.Must(t, f.Close())
	}
}

// isWaitedFor reports whether anything waits for a file.
func isWaitedFor(path string) bool {
	process.mu.Lock()
	defer process.mu.Unlock()
	for w := range process.all {
		if w.path == path {
			return true
		}
	}
	return false
}

// TestEachCallOfAFileIsItsOwn: a method of os.File that is not here would not be waited for.
func TestEachCallOfAFileIsItsOwn(t *testing.T) {
	harmless := []string{"Fd", "Name", "Seek", "SyscallConn", "SetDeadline", "SetReadDeadline", "SetWriteDeadline"}
	unused := []string{"Chdir", "Chown", "ReadDir", "Readdir", "Readdirnames"}
	ours := reflect.TypeFor[*File]()
	for i := range ours.NumMethod() {
		m := ours.Method(i)
		if _, promoted := reflect.TypeFor[*os.File]().MethodByName(m.Name); !promoted || slices.Contains(harmless, m.Name) || slices.Contains(unused, m.Name) {
			continue
		}
		if own := methods(t); !slices.Contains(own, m.Name) {
			t.Errorf("%s is that of os.File, want one that is waited for", m.Name)
		}
	}
}

// methods returns the names of the methods in the source.
func methods(t *testing.T) (names []string) {
	text, err := os.ReadFile("file.go")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if name, ok := strings.CutPrefix(line, "func (f *File) "); ok {
			names = append(names, name[:strings.IndexByte(name, '(')])
		}
	}
	return names
}

// TestCallsOfAFileAllocateNothing: a replay reads, and a recording writes, a file for hours.
func TestCallsOfAFileAllocateNothing(t *testing.T) {
	if testkit.Race {
		t.Skip("needs a build without the race detector, which allocates")
	}
	f, err := OpenFile(filepath.Join(t.TempDir(), "f"), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	if got := testing.AllocsPerRun(100, func() {
		if _, err := f.WriteAt([]byte("x"), 0); err != nil {
			t.Fatal(err)
		}
	}); got > 0 {
		t.Errorf("got %v allocations, want none", got)
	}
}
