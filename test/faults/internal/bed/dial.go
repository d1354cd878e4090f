// SPDX-License-Identifier: Apache-2.0

//go:build linux

package bed

import (
	"context"
	"net"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// Dial connects to an address of IP and port as a process on the host does.
//
// Errors: the system's.
func (h Host) Dial(ctx context.Context, network, address string) (conn net.Conn, err error) {
	err = h.Do(func() error {
		conn, err = new(net.Dialer).DialContext(ctx, network, address)
		return err
	})
	return conn, err
}

// Do calls a function on a thread whose network is that of the host.
//
// Errors: those of the function, and the system's.
func (h Host) Do(f func() error) error {
	done := make(chan error, 1)
	go func() {
		lockThread() // and the thread ends with this goroutine, as its network is another one
		done <- h.do(f)
	}()
	return <-done
}

func (h Host) do(f func() error) error {
	fd, err := unix.Open(filepath.Join("/run/netns", h.Name), unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer func() { _ = unix.Close(fd) }()
	if err := unix.Setns(fd, unix.CLONE_NEWNET); err != nil {
		return err
	}
	return f()
}
