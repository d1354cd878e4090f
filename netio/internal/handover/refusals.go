// SPDX-License-Identifier: Apache-2.0

package handover

import "sync/atomic"

// Refusals counts, for one reason, the returns of ErrNoResources that OnSendReady has
// not answered yet. A call that finds no room adds one, then looks for room again; the
// loop makes room, then looks at the count. See "Lost wake-ups" in the package comment.
type Refusals struct{ n atomic.Int64 }

// Add counts one.
func (r *Refusals) Add() { r.n.Add(1) }

// Withdraw takes one back, and reports whether there was one: the loop may have done so
// first, in order to answer it.
func (r *Refusals) Withdraw() bool {
	for {
		n := r.n.Load()
		if n == 0 {
			return false
		}
		if r.n.CompareAndSwap(n, n-1) {
			return true
		}
	}
}

// Count returns the number of refusals.
func (r *Refusals) Count() int { return int(r.n.Load()) }
