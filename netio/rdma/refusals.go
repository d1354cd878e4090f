//go:build libfabric && cgo

package rdma

import "sync/atomic"

// refusals counts how often ErrNoResources was returned for one reason, without
// an answer by OnSendReady yet.
//
// The loop makes room first and looks at the count second; who finds no room
// counts first and looks again second. So one of them sees the other.
type refusals struct{ n atomic.Int64 }

func (r *refusals) add() { r.n.Add(1) }

// withdraw undoes add, unless the loop has done so, to answer.
func (r *refusals) withdraw() bool {
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

func (r *refusals) count() int { return int(r.n.Load()) }
