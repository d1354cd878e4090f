// SPDX-License-Identifier: Apache-2.0

//go:build linux

package shm

import (
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"tagbus/netio/internal/mutual"
)

// socket is the net.Conn below a tls.Conn, for the goroutine of a handshake. It blocks: the
// goroutine makes the calls of the system, and waits for Kick where there is nothing to read, or no room.
//
// Threads: Read and Write by the goroutine; Kick, stop and shut by any.
type socket struct {
	mutual.Waiter
	room int // what the handshake may read yet

	mu    sync.Mutex
	fd    int // -1: closed
	cause error
}

// Read implements net.Conn. Files that come with bytes end the handshake.
func (c *socket) Read(p []byte) (int, error) {
	for {
		n, err := c.do(func(fd int) (int, error) {
			switch {
			case c.room == 0:
				return 0, mutual.ErrLongHandshake
			case foreign.full():
				return 0, errForeign
			}
			var control rightsBuffer
			n, m, _, errno := receive(fd, p[:min(len(p), c.room)], &control)
			switch {
			case errno != 0:
				return 0, errno
			case m > 0:
				discard(rights(control[:m]))
				return 0, fmt.Errorf("%w: files within it", ErrHandshake)
			case n == 0:
				return 0, mutual.ErrCut
			}
			return n, nil
		})
		c.room -= max(n, 0)
		if !errors.Is(err, unix.EAGAIN) {
			return max(n, 0), err
		}
		if err := c.Await(); err != nil {
			return 0, err
		}
	}
}

// Write implements net.Conn. A handshake fits into the buffer of the system. If it does not, as
// the peer reads nothing, it stands until the peer sends, or its time is over.
func (c *socket) Write(p []byte) (int, error) {
	for done := 0; ; {
		n, err := c.do(func(fd int) (int, error) {
			return unix.SendmsgN(fd, p[done:], nil, nil, unix.MSG_DONTWAIT|unix.MSG_NOSIGNAL)
		})
		done += max(n, 0)
		switch {
		case err != nil && !errors.Is(err, unix.EAGAIN):
			return done, err
		case done == len(p):
			return done, nil
		case err == nil:
			continue
		}
		if err := c.Await(); err != nil {
			return done, err
		}
	}
}

// do makes a call of the system with the descriptor, which no one closes meanwhile.
func (c *socket) do(call func(fd int) (int, error)) (n int, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.cause != nil {
		return 0, c.cause
	}
	err = retry(func() (err error) {
		n, err = call(c.fd)
		return err
	})
	return n, err
}

// stop makes the handshake fail.
func (c *socket) stop(cause error) {
	c.mu.Lock()
	c.cause = cause
	c.mu.Unlock()
	c.Kick()
}

// shut is stop for a descriptor that is closed next.
func (c *socket) shut(cause error) {
	c.mu.Lock()
	c.cause, c.fd = cause, -1
	c.mu.Unlock()
	c.Kick()
}

// Close implements net.Conn; the endpoint closes the socket.
func (c *socket) Close() error { return nil }

// LocalAddr implements net.Conn; nothing asks.
func (c *socket) LocalAddr() net.Addr { return &net.UnixAddr{} }

// RemoteAddr implements net.Conn; nothing asks.
func (c *socket) RemoteAddr() net.Addr { return &net.UnixAddr{} }

// SetDeadline implements net.Conn; the Waiter has one deadline.
func (c *socket) SetDeadline(time.Time) error { return nil }

// SetReadDeadline implements net.Conn.
func (c *socket) SetReadDeadline(time.Time) error { return nil }

// SetWriteDeadline implements net.Conn.
func (c *socket) SetWriteDeadline(time.Time) error { return nil }
