// SPDX-License-Identifier: Apache-2.0

//go:build linux

package sealed

import (
	"errors"
	"math"
	"os"
	"path/filepath"
	"testing"
	"testing/fstest"

	"golang.org/x/sys/unix"
)

// say makes a file that the system would write say something else, until the end of the
// test.
func say(t *testing.T, file *string, text string) {
	t.Helper()
	name := filepath.Join(t.TempDir(), "said")
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	before := *file
	*file = name
	t.Cleanup(func() { *file = before })
}

// TestCommitLooksAtWhatThereIs: what is missing of the whole file counts, with some to spare, and nothing is
// taken if there is less.
func TestCommitLooksAtWhatThereIs(t *testing.T) {
	const n = 8 << 20
	fd, mem, err := Reserve("test", n)
	if err != nil {
		t.Fatalf("Reserve: got error %v, want none", err)
	}
	defer func() { _, _ = unix.Munmap(mem), unix.Close(fd) }()
	for i := 0; i < 4<<20; i += 4096 {
		mem[i] = 1 // it is there already
	}
	setGroups(t, nil)
	say(t, &meminfo, "MemAvailable: 20479 kB\n")
	if err := Commit(fd, 0, 4096); !errors.Is(err, unix.ENOMEM) {
		t.Errorf("Commit of a page, with 1 KiB too little for the rest: got error %v, want %v", err, unix.ENOMEM)
	}
	say(t, &meminfo, "MemAvailable: 20480 kB\n")
	if err := Commit(fd, 0, 4096); err != nil {
		t.Errorf("Commit of a page, with enough for the rest: got error %v, want none", err)
	}
}

// setGroups sets what control groups say, until the end of the test.
func setGroups(t *testing.T, files map[string]string) {
	t.Helper()
	root := make(fstest.MapFS)
	for name, text := range files {
		root[name] = &fstest.MapFile{Data: []byte(text)}
	}
	before := groups
	groups = root
	t.Cleanup(func() { groups = before })
}

// TestCommitLooksAtControlGroups: a container is ended for memory that the machine has.
func TestCommitLooksAtControlGroups(t *testing.T) {
	const n = 8 << 20 // of 24 MiB with what is to spare
	for _, tt := range []struct {
		name, used, stat string
		want             error
	}{
		{"enough", "79691776", "", nil}, // 100 MiB less 24 MiB
		{"too little", "79691777", "", unix.ENOMEM},
		{"enough without files that were read", "79691778", "inactive_file 2\n", nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			setGroups(t, map[string]string{
				"proc/self/cgroup": "0::/a\n", "sys/fs/cgroup/a/memory.max": "104857600\n",
				"sys/fs/cgroup/a/memory.current": tt.used + "\n", "sys/fs/cgroup/a/memory.stat": tt.stat,
			})
			say(t, &meminfo, "MemAvailable: 1000000 kB\n")
			fd, mem, err := Reserve("test", n)
			if err != nil {
				t.Fatalf("Reserve: got error %v, want none", err)
			}
			defer func() { _, _ = unix.Munmap(mem), unix.Close(fd) }()
			if err := Commit(fd, 0, 4096); !errors.Is(err, tt.want) {
				t.Errorf("Commit of a page: got error %v, want %v", err, tt.want)
			}
		})
	}
}

// TestAvailable_withoutProc: the system says what is free, and so all that it knows to be available is not less.
func TestAvailable_withoutProc(t *testing.T) {
	before := meminfo
	t.Cleanup(func() { meminfo = before })
	meminfo = filepath.Join(t.TempDir(), "none")
	if got := available(); got <= 0 || int64(got) > 1<<50 {
		t.Errorf("got %d bytes, want what is free", got)
	}
}

func TestStrict(t *testing.T) {
	for text, want := range map[string]bool{"0\n": false, "1\n": false, "2\n": true, "": false} {
		say(t, &overcommit, text)
		if got := Strict(); got != want {
			t.Errorf("vm.overcommit_memory=%q: got %t, want %t", text, got, want)
		}
	}
	overcommit += ".not"
	if Strict() {
		t.Errorf("a system that does not say: got strict, want not")
	}
}

func TestLeft(t *testing.T) {
	for text, want := range map[string]int{
		"MemTotal: 100 kB\nMemAvailable:   30 kB\nSwapFree:  2 kB\n": 32 << 10,
		"MemAvailable: 0 kB\n":               0,
		"SwapFree: 2 kB\n":                   math.MaxInt,
		"":                                   math.MaxInt,
		"MemAvailable: 99999999999999999999": math.MaxInt,
	} {
		if got := left(text); got != want {
			t.Errorf("%q: got %d, want %d", text, got, want)
		}
	}
	if got := available(); got <= 0 || int64(got) > 1<<50 {
		t.Errorf("memory that this system has left: got %d bytes", got)
	}
}
