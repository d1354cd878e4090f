// SPDX-License-Identifier: Apache-2.0

package recording

import (
	"sync"

	"tagbus/bus"
)

// peers makes one pointer of all equal publishers.
//
// Threads: any.
type peers struct {
	mu    sync.Mutex
	known map[bus.Peer]*bus.Peer
	bytes int // of text
}

// mostPeers and mostPeerBytes bound what is remembered, whatever a file says. Beyond them
// it is forgotten, and equal publishers may have two pointers.
const (
	mostPeers     = 1 << 16
	mostPeerBytes = 16 << 20
)

func newPeers() *peers { return &peers{known: make(map[bus.Peer]*bus.Peer)} }

// of returns the pointer; nil for the zero value.
func (p *peers) of(peer bus.Peer) *bus.Peer {
	if peer == (bus.Peer{}) {
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if known := p.known[peer]; known != nil {
		return known
	}
	size := len(peer.Instance) + len(peer.Name) + len(peer.Host) + len(peer.Addr.Addr().Zone())
	if len(p.known) >= mostPeers || p.bytes+size > mostPeerBytes {
		clear(p.known)
		p.bytes = 0
	}
	p.bytes += size
	p.known[peer] = &peer
	return &peer
}
