// SPDX-License-Identifier: Apache-2.0

package tcp

import (
	"time"

	"golang.org/x/sys/unix"

	"tagbus/netio"
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

// Path implements netio.PathMeasurer.
//
// Implements:
//
//	getsockopt(fd, IPPROTO_TCP, TCP_INFO, …) → tcpi_rtt, tcpi_data_segs_out, tcpi_total_retrans
func (e *endpoint) Path() (p netio.Path, ok bool) {
	q := &e.queue
	q.Mu.Lock()
	defer q.Mu.Unlock()
	if q.socket < 0 {
		return p, false
	}
	info, err := unix.GetsockoptTCPInfo(q.socket, unix.IPPROTO_TCP, unix.TCP_INFO)
	if err != nil {
		return p, false
	}
	return netio.Path{
		RoundTrip: time.Duration(info.Rtt) * time.Microsecond,
		Segments:  uint64(info.Data_segs_out), Retransmitted: uint64(info.Total_retrans),
	}, true
}
