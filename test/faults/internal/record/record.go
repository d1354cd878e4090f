// SPDX-License-Identifier: Apache-2.0

//go:build linux

// Package record keeps what a process counts in a file that outlives it: the file is mapped, so
// what was counted before a kill is there after it.
package record

import (
	"fmt"
	"os"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Create makes a file of n slots, all zero, and maps it until the process ends. T is a struct of numbers
// and arrays of bytes, without pointers.
//
// Errors: the system's.
func Create[T any](path string, n int) ([]T, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	if err := f.Truncate(int64(size[T](n))); err != nil {
		return nil, err
	}
	return mapped[T](f, n)
}

// Open maps a file that Create has made, for reading. What another process counts shows in it.
//
// Errors: the system's; one that names the file if its size is not that of whole slots.
func Open[T any](path string) ([]T, error) {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	n := int(info.Size()) / size[T](1)
	if n == 0 || size[T](n) != int(info.Size()) {
		return nil, fmt.Errorf("%s: %d bytes are not a record of slots of %d bytes", path, info.Size(), size[T](1))
	}
	return mapped[T](f, n)
}

// Release gives the memory of Open back: the slots are not to be used after it.
func Release[T any](slots []T) {
	if len(slots) > 0 {
		_ = unix.Munmap(unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(slots))), size[T](len(slots)))) // it was mapped
	}
}

func size[T any](n int) int {
	var slot T
	return n * int(unsafe.Sizeof(slot))
}

func mapped[T any](f *os.File, n int) ([]T, error) {
	mem, err := unix.Mmap(int(f.Fd()), 0, size[T](n), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return nil, fmt.Errorf("%s: mmap: %w", f.Name(), err)
	}
	return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(mem))), n), nil
}

// Now returns the time in nanoseconds that all processes of the host have alike.
func Now() int64 {
	var t unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_MONOTONIC, &t) // it cannot fail
	return t.Nano()
}
