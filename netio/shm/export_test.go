// SPDX-License-Identifier: Apache-2.0

//go:build linux

package shm

import (
	"golang.org/x/sys/unix"

	"tagbus/netio"
)

// BreakConnection breaks the connection of an endpoint, as the sudden end of its process
// does. Threads: any, while the endpoint is open.
func BreakConnection(ep netio.Endpoint) {
	e := ep.(*endpoint)
	e.queue.Mu.Lock()
	defer e.queue.Mu.Unlock()
	if fd := e.queue.writer.fd; fd > 0 {
		_ = unix.Shutdown(fd, unix.SHUT_RDWR)
	}
}

// WithReadBudget returns c with a limit for what an endpoint receives in a turn.
func WithReadBudget(c Config, bytes int) Config {
	c.readBudget = bytes
	return c
}

// WithAcceptBudget returns c with a limit for what is accepted in a turn.
func WithAcceptBudget(c Config, n int) Config {
	c.acceptBudget = n
	return c
}
