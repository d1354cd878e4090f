// SPDX-License-Identifier: Apache-2.0

//go:build libfabric && cgo

package rdma

import (
	"fmt"
	"slices"
	"time"
)

// tried notes how it went to open an endpoint: err, or nil. When the device has failed
// too often it is stale, and the next endpoint opens it again.
//
// Errors: err; with ErrStaleDevice if it is that which made the device stale.
func (n *device) tried(err error) error {
	if err == nil {
		*n.renewal = renewal{}
		return nil
	}
	if n.stale || !isStale(err) || !n.renewal.failed(time.Now()) {
		return err
	}
	n.backend.devices.retire(n)
	return fmt.Errorf("%w: %w", ErrStaleDevice, err)
}

// retire makes new endpoints use a device that is opened again, in place of n.
func (d *devices) retire(n *device) {
	d.backend.warn("a device refuses endpoints: it is opened again for the next", "device", n.name, "endpoints", n.endpoints)
	d.mu.Lock()
	d.all = slices.DeleteFunc(d.all, func(known *device) bool { return known == n })
	d.stale = append(d.stale, n)
	n.stale = true
	d.mu.Unlock()
	for _, l := range d.backend.listeners {
		l.releasePools()
	}
	d.tidy()
}

// tidy closes what is not used any more of stale devices. Threads: in a step.
func (d *devices) tidy() {
	if len(d.stale) == 0 { // is appended to in steps only
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.stale = slices.DeleteFunc(d.stale, func(n *device) bool {
		if n.endpoints > 0 {
			return false
		}
		n.closeDomain()
		if n.listeners > 0 { // whose passive endpoint is of its fabric
			return false
		}
		n.close()
		return true
	})
}
