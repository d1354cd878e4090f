package handover

import "sync/atomic"

// Refusals counts how often ErrNoResources was returned for one reason, without
// an answer by OnSendReady yet.
//
// The loop makes room first and looks at the count second; who finds no room
// counts first and looks again second. So one of them sees the other.
type Refusals struct{ n atomic.Int64 }

// Add counts one.
func (r *Refusals) Add() { r.n.Add(1) }

// Withdraw undoes Add, unless the loop has done so, to answer.
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

// Count returns how many there are.
func (r *Refusals) Count() int { return int(r.n.Load()) }
