// SPDX-License-Identifier: Apache-2.0

//go:build libfabric && cgo

package rdma

import (
	"log/slog"
	"net/netip"
	"syscall"
	"time"

	"tagbus/netio"
	"tagbus/netio/rdma/internal/fi"
)

// Devices returns how many devices a backend uses for new endpoints, and how many
// stale ones it has. Threads: the loop.
func Devices(b netio.Backend) (fresh, stale int) {
	d := &b.(*backend).devices
	return len(d.all), len(d.stale)
}

// RemoveDevice tells a listen endpoint what libfabric does when its device was removed. Threads: the loop.
func RemoveDevice(l netio.ListenEndpoint) {
	l.(*listenEndpoint).onEvent(&fi.Event{Type: fi.Failed, Err: fi.Errno(syscall.ENODEV)})
}

// Refusals are those of a listen endpoint.
type Refusals struct{ r refusals }

// Refused notes that a connection could not be served.
func (r *Refusals) Refused(log *slog.Logger, now time.Time, remote netip.AddrPort, err error) {
	r.r.refused(log, now, remote, err)
}

// Served notes one that was.
func (r *Refusals) Served(log *slog.Logger) { r.r.served(log) }

// Renewals returns after which of so many failures, one every, a device is opened
// again.
func Renewals(failures int, every time.Duration) (after []int) {
	r, now := renewal{}, time.Unix(1, 0)
	for i := range failures {
		if r.failed(now) {
			after = append(after, i+1)
		}
		now = now.Add(every)
	}
	return after
}
