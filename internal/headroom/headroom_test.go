// SPDX-License-Identifier: Apache-2.0

//go:build linux

package headroom

import (
	"errors"
	"testing"

	"golang.org/x/sys/unix"
)

func TestTaken(t *testing.T) {
	for _, c := range []struct{ limit, kept int }{{64, 4}, {256, 16}, {512, 16}} {
		lower(t, c.limit)
		for fd, want := range map[int]bool{3: false, c.limit - c.kept - 1: false, c.limit - c.kept: true, c.limit - 1: true} {
			if got := Taken(fd); got != want {
				t.Errorf("limit %d, descriptor %d: got %t, want %t", c.limit, fd, got, want)
			}
		}
		if reached(0) {
			t.Errorf("limit %d: got no descriptor but the last ones, want one", c.limit)
		}
		fds := fill(t)
		if !reached(0) {
			t.Errorf("limit %d: got a descriptor, want none", c.limit)
		}
		closeAll(fds, func(fd int) bool { return fd >= c.limit-c.kept })
		if !reached(0) {
			t.Errorf("limit %d: got a descriptor that is not kept, want none", c.limit)
		}
		closeAll(fds, func(fd int) bool { return fd < c.limit-c.kept })
	}
}

// lower sets the limit of this process until the test ends.
func lower(t *testing.T, to int) {
	t.Helper()
	var before unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &before); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &before); err != nil {
			t.Fatal(err)
		}
	})
	low := before
	low.Cur = uint64(to)
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &low); err != nil {
		t.Fatal(err)
	}
}

// closeAll closes some descriptors.
func closeAll(fds []int, these func(fd int) bool) {
	for _, fd := range fds {
		if these(fd) {
			_ = unix.Close(fd)
		}
	}
}

// fill takes all descriptors, in their order.
func fill(t *testing.T) (fds []int) {
	t.Helper()
	for {
		fd, err := unix.Dup(0)
		if err == unix.EMFILE {
			return fds
		}
		if err != nil {
			t.Fatal(err)
		}
		fds = append(fds, fd)
	}
}

func TestKeeps(t *testing.T) {
	listener, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = unix.Close(listener) }()
	at := &unix.SockaddrUnix{Name: t.TempDir() + "/s"}
	peer, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM, 0)
	if err := errors.Join(err, unix.Bind(listener, at), unix.Listen(listener, 1)); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = unix.Close(peer) }()
	want := func(reached, waits bool) {
		t.Helper()
		if r, w := Keeps(listener); r != reached || w != waits {
			t.Errorf("got %t, %t, want %t, %t", r, w, reached, waits)
		}
	}
	lower(t, 64)
	want(false, false)
	fds := fill(t)
	want(true, false)
	if err := unix.Connect(peer, at); err != nil {
		t.Fatal(err)
	}
	want(true, true)
	closeAll(fds, func(int) bool { return true })
	want(false, false)
}
