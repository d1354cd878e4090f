// SPDX-License-Identifier: Apache-2.0

//go:build linux

package sealed_test

import (
	"errors"
	"testing"

	"golang.org/x/sys/unix"

	"tagbus/netio/internal/sealed"
)

func TestAlloc(t *testing.T) {
	const n = 10_000
	fd, mem, err := sealed.Alloc("test", n)
	if err != nil {
		t.Fatalf("Alloc: got error %v, want none", err)
	}
	defer func() { _, _ = unix.Munmap(mem), unix.Close(fd) }()
	if len(mem) != n || mem[0] != 0 {
		t.Errorf("memory: got %d bytes, the first of them %d, want %d and 0", len(mem), mem[0], n)
	}
	mem[n-1] = 7
	read, err := unix.Mmap(fd, 0, n, unix.PROT_READ, unix.MAP_SHARED)
	if err != nil {
		t.Fatalf("map it for reading: got error %v, want none", err)
	}
	defer func() { _ = unix.Munmap(read) }()
	if read[n-1] != 7 {
		t.Errorf("last byte, where it is read: got %d, want 7", read[n-1])
	}
	if _, err := unix.Mmap(fd, 0, n, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED); !errors.Is(err, unix.EPERM) {
		t.Errorf("map it for writing: got error %v, want %v", err, unix.EPERM)
	}
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil || st.Size != n || st.Blocks*512 < n {
		t.Errorf("file: got size %d of which %d are there, error %v, want all of %d", st.Size, st.Blocks*512, err, n)
	}
}

func TestAllocThatFailsLeavesNothing(t *testing.T) {
	for _, n := range []int{-1, 0} { // nothing huge: a mistake would end other processes

		if fd, mem, err := sealed.Alloc("test", n); err == nil || fd != -1 || mem != nil {
			t.Errorf("Alloc(%d): got descriptor %d, %d bytes, error %v, want an error alone", n, fd, len(mem), err)
		}
	}
}

// TestCommit: what is reserved is not there, but where its owner has written; a part of it is
// committed, and all, though the file is sealed; and the bytes stay.
func TestCommit(t *testing.T) {
	const n = 3<<20 - 1
	fd, mem, err := sealed.Reserve("test", n)
	if err != nil {
		t.Fatalf("Reserve: got error %v, want none", err)
	}
	defer func() { _, _ = unix.Munmap(mem), unix.Close(fd) }()
	there := func(when string, least, most int64) {
		t.Helper()
		var st unix.Stat_t
		if err := unix.Fstat(fd, &st); err != nil || st.Blocks*512 < least || st.Blocks*512 > most {
			t.Errorf("%s: got %d bytes that are there, error %v, want %d to %d", when, st.Blocks*512, err, least, most)
		}
	}
	there("Reserve", 0, 0)
	mem[n-1] = 7
	there("a byte is written", 1, 1<<20)
	for i := range 3 {
		if err := sealed.Commit(fd, i<<20, min((i+1)<<20, n)); err != nil {
			t.Fatalf("Commit: got error %v, want none", err)
		}
		there("a part is committed", int64(i+1)<<20, 4<<20)
	}
	there("all is committed", n, 3<<20)
	if mem[0] != 0 || mem[n-1] != 7 {
		t.Errorf("first and last byte: got %d and %d, want 0 and 7", mem[0], mem[n-1])
	}
	if err := sealed.Commit(fd, 0, 3<<20+1); !errors.Is(err, unix.EPERM) {
		t.Errorf("Commit beyond the end: got error %v, want %v", err, unix.EPERM)
	}
}
