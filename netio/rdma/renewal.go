// SPDX-License-Identifier: Apache-2.0

//go:build libfabric && cgo

package rdma

import (
	"errors"
	"slices"
	"syscall"
	"time"

	"tagbus/netio/rdma/internal/fi"
)

const (
	// staleFailures is how many endpoints in a row a device refuses before it is
	// taken for stale. A peer that has given up meanwhile is a failure, too.
	staleFailures = 3

	// firstRenewalPause and lastRenewalPause are those after a device was opened again, until that
	// may happen the next time: each is twice as long as the one before.
	firstRenewalPause = time.Second
	lastRenewalPause  = time.Minute
)

// renewal decides when a device is opened again. It outlives the device: the next
// one of that name goes on with it. Only in a step.
type renewal struct {
	failures int // in a row
	pause    time.Duration
	next     time.Time // not before
}

// failed notes a failure, and reports whether the device is to be opened again.
func (r *renewal) failed(now time.Time) bool {
	r.failures++
	if r.failures < staleFailures || now.Before(r.next) {
		return false
	}
	r.failures = 0
	r.pause = min(max(2*r.pause, firstRenewalPause), lastRenewalPause)
	r.next = now.Add(r.pause)
	return true
}

// Calls that fail on a stale device, and how. Others fail for the peer's sake, or for
// want of memory and descriptors, which a new device does not change.
var (
	staleCalls  = []string{"fi_mr_reg", "fi_cq_open", "fi_srx_context", "fi_endpoint", "fi_enable"}
	staleErrors = []error{syscall.EINVAL, syscall.ENODEV, syscall.EIO}
)

// isStale reports whether err is one of a device that does not exist any more as it
// was opened.
//
// With verbs it is EINVAL of fi_enable. librdmacm lists the devices again when one is
// opened. Versions 31 to 51 (44.0-2 of Debian 12) sort that list by the lower 32 bits of
// addresses: when another device was made since, they may take one that is there for
// gone, and open it a second time. What asks to connect from then on belongs to the
// second one, which does not go with the domain of the first. internal/fi/lister.c keeps
// that from happening; a device that is removed and made again looks the same.
func isStale(err error) bool {
	var call *fi.Error
	return errors.As(err, &call) && slices.Contains(staleCalls, call.Call) &&
		slices.ContainsFunc(staleErrors, func(e error) bool { return errors.Is(call.Errno, e) })
}
