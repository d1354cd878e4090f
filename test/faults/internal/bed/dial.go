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
func (h Host) Dial(ctx context.Context, network, address string) (net.Conn, error) {
	type result struct {
		conn net.Conn
		err  error
	}
	done := make(chan result, 1)
	go func() {
		lockThread() // and the thread ends with this goroutine, as its network is another one
		conn, err := h.dial(ctx, network, address)
		done <- result{conn, err}
	}()
	r := <-done
	return r.conn, r.err
}

func (h Host) dial(ctx context.Context, network, address string) (net.Conn, error) {
	fd, err := unix.Open(filepath.Join("/run/netns", h.Name), unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	defer func() { _ = unix.Close(fd) }()
	if err := unix.Setns(fd, unix.CLONE_NEWNET); err != nil {
		return nil, err
	}
	return new(net.Dialer).DialContext(ctx, network, address)
}
