// SPDX-License-Identifier: Apache-2.0

package tcp

import (
	"time"

	"golang.org/x/sys/unix"
)

// ProbeAfter implements netio.Prober. The system may refuse it, and then asks as before.
func (e *endpoint) ProbeAfter(silence time.Duration) {
	c := e.backend.config
	silence = min(silence, maxKeepalive)
	if c.KeepaliveIdle < 0 || silence <= c.KeepaliveIdle {
		return
	}
	q := &e.queue
	q.Mu.Lock()
	defer q.Mu.Unlock()
	if q.socket >= 0 {
		_ = unix.SetsockoptInt(q.socket, unix.IPPROTO_TCP, unix.TCP_KEEPIDLE, int((silence+time.Second-1)/time.Second))
	}
}

// RoundTrip implements netio.RoundTripper.
//
// Implements:
//
//	getsockopt(fd, IPPROTO_TCP, TCP_INFO, …) → tcpi_rtt
func (e *endpoint) RoundTrip() time.Duration {
	q := &e.queue
	q.Mu.Lock()
	defer q.Mu.Unlock()
	if q.socket < 0 {
		return 0
	}
	info, err := unix.GetsockoptTCPInfo(q.socket, unix.IPPROTO_TCP, unix.TCP_INFO)
	if err != nil {
		return 0
	}
	return time.Duration(info.Rtt) * time.Microsecond
}
