// SPDX-License-Identifier: Apache-2.0

package handover

import (
	"net/netip"
	"sync/atomic"

	"tagbus/netio"
)

// ListenEndpoint is the part of a listen endpoint that takes calls from any
// goroutine. It implements netio.ListenEndpoint for the one that embeds it.
type ListenEndpoint struct {
	Address netip.AddrPort
	backend *Backend
	worker  Worker
	closed  atomic.Bool
}

// Listener is a listen endpoint that embeds ListenEndpoint. Its Work is called once to
// begin, and once more after Close.
type Listener interface {
	netio.ListenEndpoint
	Worker
}

// Init prepares l, a part of self.
func (l *ListenEndpoint) Init(b *Backend, self Listener) { l.backend, l.worker = b, self }

// Addr implements netio.ListenEndpoint.
func (l *ListenEndpoint) Addr() netip.AddrPort { return l.Address }

// Close implements netio.ListenEndpoint.
func (l *ListenEndpoint) Close() error {
	l.backend.CheckThread("ListenEndpoint.Close")
	if l.closed.Swap(true) {
		return netio.ErrClosed
	}
	l.backend.Enqueue(l.worker)
	return nil
}

// IsClosed reports whether Close or Shut was called. Threads: any.
func (l *ListenEndpoint) IsClosed() bool { return l.closed.Load() }

// Shut marks l as closed when it ends without Close. Threads: any.
func (l *ListenEndpoint) Shut() { l.closed.Store(true) }
