// SPDX-License-Identifier: Apache-2.0

//go:build libfabric && cgo

package rdma

import (
	"sync/atomic"

	"tagbus/netio/rdma/internal/fi"
)

// maxResolving is how many addresses are resolved at once, each on a thread. The others wait.
const maxResolving = 16

// resolution is the search for the device that leads to a peer. For verbs the network is asked, and may not
// answer: libfabric waits 2 s. So that is done beside the loop.
type resolution struct {
	found   atomic.Pointer[answer]
	useless atomic.Bool // the endpoint has ended
}

// answer is what came of it.
type answer struct {
	info *fi.Info // nil: err
	err  error
}

// resolve begins the search. toOpen follows.
func (e *endpoint) resolve() {
	b, remote, sizes := e.backend, e.Remote(), e.backend.sizesOf(&e.params)
	b.resolving.Go(func() {
		b.resolvers <- struct{}{}
		defer func() { <-b.resolvers }()
		if e.resolution.useless.Load() {
			return
		}
		if b.config.Provider == ProviderVerbs {
			fi.LookForDevices() // on the thread for that, before the search does it on this one
		}
		info, err := b.getInfo(remote, false, sizes)
		e.resolution.found.Store(&answer{info, err})
		if e.resolution.useless.Load() { // perhaps it was before that was stored
			e.resolution.drop()
			return
		}
		e.Schedule(toOpen)
	})
}

// end frees what was found, now or later. Threads: any.
func (r *resolution) end() {
	r.useless.Store(true)
	r.drop()
}

func (r *resolution) drop() {
	if o := r.found.Swap(nil); o != nil && o.info != nil {
		o.info.Free()
	}
}
