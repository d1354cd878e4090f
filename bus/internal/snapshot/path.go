// SPDX-License-Identifier: Apache-2.0

package snapshot

import (
	"tagbus/bus/state"
	"tagbus/netio"
)

// PathOf returns what the transport has measured of the way to a peer. ok is false if it
// measures nothing.
func PathOf(ep netio.Endpoint) (p netio.Path, ok bool) {
	if m, measures := ep.(netio.PathMeasurer); measures {
		return m.Path()
	}
	return p, false
}

// ShowPath adds what the transport has measured of the way to a peer.
func ShowPath(peer *state.Peer, ep netio.Endpoint) {
	if p, ok := PathOf(ep); ok {
		peer.RoundTrip = p.RoundTrip.Seconds()
		peer.Path = &state.Path{Segments: p.Segments, Retransmitted: p.Retransmitted}
	}
}

// maxPaths is how many connections are asked for a sum: each costs a call of the system.
const maxPaths = 1024

// SumPaths returns the sum of what was measured of all connections; nil if none of them is
// measured, or if they are too many.
func SumPaths(eps []netio.Endpoint) *state.Path {
	if len(eps) > maxPaths {
		return nil
	}
	var sum state.Path
	measured := false
	for _, ep := range eps {
		p, ok := PathOf(ep)
		measured = measured || ok
		sum.Segments += p.Segments
		sum.Retransmitted += p.Retransmitted
	}
	if !measured {
		return nil
	}
	return &sum
}
