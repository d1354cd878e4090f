// SPDX-License-Identifier: Apache-2.0

//go:build linux

package sealed

import (
	"errors"
	"math"
	"os"
	"path/filepath"
	"testing"

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

// TestCommitLooksAtWhatThereIs: what is missing of the whole file counts, and nothing is
// taken if there is less.
func TestCommitLooksAtWhatThereIs(t *testing.T) {
	const n = uncheckedBytes + 8<<20
	fd, mem, err := Reserve("test", n)
	if err != nil {
		t.Fatalf("Reserve: got error %v, want none", err)
	}
	defer func() { _, _ = unix.Munmap(mem), unix.Close(fd) }()
	for i := 0; i < 4<<20; i += 4096 {
		mem[i] = 1 // it is there already
	}
	say(t, &meminfo, "MemAvailable: 20479 kB\n")
	if err := Commit(fd, 0, 4096); !errors.Is(err, unix.ENOMEM) {
		t.Errorf("Commit of a page, with 1 KiB too little for the rest: got error %v, want %v", err, unix.ENOMEM)
	}
	say(t, &meminfo, "MemAvailable: 20480 kB\n")
	if err := Commit(fd, 0, 4096); err != nil {
		t.Errorf("Commit of a page, with enough for the rest: got error %v, want none", err)
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
	if got := available(); got <= uncheckedBytes || int64(got) > 1<<50 {
		t.Errorf("memory that this system has left: got %d bytes", got)
	}
}
