// SPDX-License-Identifier: Apache-2.0

//go:build linux

package shm_test

import (
	"errors"
	"fmt"
	"os"
	"syscall"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"tagbus/internal/testkit"
	"tagbus/netio"
	"tagbus/netio/shm"
)

// TestReaderCannotWrite: a process that is given the file of a segment, or of a region,
// can read it, and nothing more.
func TestReaderCannotWrite(t *testing.T) {
	p := &shm.Peer{}
	segment, err := shm.SegmentFile(p)
	if err != nil {
		t.Fatalf("make a segment: got error %v, want none", err)
	}
	t.Cleanup(func() { _ = unix.Close(segment) })
	refuses(t, "segment", segment)

	region, err := netio.AllocSharedRegion(1 << 20)
	if err != nil {
		t.Fatalf("AllocSharedRegion: got error %v, want none", err)
	}
	t.Cleanup(func() { _ = netio.FreeRegion(region) })
	file, ok := netio.RegionFile(region)
	if ok == testkit.Race {
		t.Fatalf("RegionFile: got %t, want a file except in a race build", ok)
	}
	if ok {
		refuses(t, "region", file)
		region[0] = 1 // it is its owner's to write
	}
}

// refuses checks that a file cannot be written or resized by any way.
func refuses(t *testing.T, what string, fd int) {
	t.Helper()
	check := func(how string, err error, want ...error) {
		for _, w := range want {
			if errors.Is(err, w) {
				return
			}
		}
		t.Errorf("%s: %s: got error %v, want %v", what, how, err, want)
	}
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		t.Fatalf("Fstat: got error %v, want none", err)
	}
	size := int(st.Size)
	_, err := unix.Mmap(fd, 0, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	check("map it for writing", err, unix.EPERM)
	_, err = unix.Pwrite(fd, []byte("x"), 0)
	check("write to it", err, unix.EPERM)
	check("shrink it", unix.Ftruncate(fd, 1), unix.EPERM)
	check("grow it", unix.Ftruncate(fd, int64(size)+4096), unix.EPERM)
	check("make a hole in it", unix.Fallocate(fd, unix.FALLOC_FL_PUNCH_HOLE|unix.FALLOC_FL_KEEP_SIZE, 0, 4096), unix.EPERM)
	_, err = unix.FcntlInt(uintptr(fd), unix.F_ADD_SEALS, unix.F_SEAL_WRITE)
	check("seal it", err, unix.EPERM)

	mem, err := unix.Mmap(fd, 0, size, unix.PROT_READ, unix.MAP_SHARED)
	if err != nil {
		t.Fatalf("%s: map it for reading: got error %v, want none", what, err)
	}
	defer func() { _ = unix.Munmap(mem) }()
	check("make its mapping writable", unix.Mprotect(mem, unix.PROT_READ|unix.PROT_WRITE), unix.EACCES, unix.EPERM)
	_, _, errno := unix.Syscall(unix.SYS_MADVISE, uintptr(unsafe.Pointer(&mem[0])), 4096, unix.MADV_REMOVE)
	check("remove a page of its mapping", errno, unix.EACCES, unix.EPERM)

	again, err := os.OpenFile(fmt.Sprintf("/proc/self/fd/%d", fd), os.O_RDWR, 0)
	if errors.Is(err, syscall.EACCES) || errors.Is(err, syscall.EPERM) {
		return
	}
	if err != nil {
		t.Fatalf("%s: open it again: got error %v, want none or that it is forbidden", what, err)
	}
	defer func() { _ = again.Close() }()
	_, err = unix.Mmap(int(again.Fd()), 0, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	check("open it again and map it for writing", err, unix.EPERM)
	_, err = again.Write([]byte("x"))
	check("open it again and write to it", err, unix.EPERM)
}
