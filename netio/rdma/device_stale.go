// SPDX-License-Identifier: Apache-2.0

//go:build libfabric && cgo

package rdma

import (
	"errors"
	"fmt"
	"slices"
	"syscall"
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
	if n.stale || !isStale(err) {
		return err
	}
	if errors.Is(err, syscall.ENODEV) { // it was found just before it was removed
		n.backend.devices.removed(n)
		return err
	}
	if !n.renewal.failed(time.Now()) {
		return err
	}
	n.backend.devices.retire(n, "a device refuses endpoints: it is opened again for the next")
	return fmt.Errorf("%w: %w", ErrStaleDevice, err)
}

// removed makes new endpoints use another device in place of one that was removed. It closes with the last of its
// endpoints, which the kernel waits for.
func (d *devices) removed(n *device) {
	if !n.stale {
		d.retire(n, "a device was removed: it is opened again for the next endpoint")
		d.backend.siblings.others(d.backend, func(b *backend) { b.devices.closeIdle() })
	}
}

// closeIdle closes the devices that nothing uses. One of them may have been removed, and the kernel waits for
// that. The next endpoint opens them again.
func (d *devices) closeIdle() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.all = slices.DeleteFunc(d.all, func(n *device) bool {
		if n.endpoints > 0 || n.listeners > 0 {
			return false
		}
		n.close()
		return true
	})
}

// retire makes new endpoints use a device that is opened again, in place of n.
func (d *devices) retire(n *device, why string) {
	d.backend.warn(why, "device", n.name, "endpoints", n.endpoints)
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
