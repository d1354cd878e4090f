// SPDX-License-Identifier: Apache-2.0

//go:build libfabric && cgo

package rdma

import (
	"slices"
	"strings"

	"tagbus/netio/rdma/internal/fi"
)

// watchDepth is how deep the epoll descriptors of the provider lie in each other.
const watchDepth = 4

// endSockets ends the sockets that the provider tcp has under a hub that closes.
// Otherwise those that have connected without a first message are forgotten (up to
// libfabric 1.17), and stay open for ever.
func (h *hub) endSockets() {
	if major, minor := fi.Version(); !strings.HasPrefix(h.backend.config.Provider, "tcp;") || h.cq.FD() < 0 || major > 1 || minor > 17 {
		return
	}
	ring := h.backend.crossing.rest
	ring.Drains[0] = h.drain
	// First that which listens, or the others would connect again.
	listening := socketsBelow(h.cq.FD(), watchDepth, true)
	for _, socket := range listening {
		endSocket(socket)
	}
	for range endRounds {
		found := false
		for _, socket := range socketsBelow(h.cq.FD(), watchDepth, false) {
			if !slices.Contains(listening, socket) {
				endSocket(socket)
				found = true
			}
		}
		for ring.Turn(0, 1, len(ring.Completed)) > 0 { // of endpoints that have ended
		}
		if !found {
			return
		}
	}
}

// endRounds bounds endSockets, should peers connect faster than it looks.
const endRounds = 100

// socketsBelow returns the sockets that a descriptor watches, also by way of
// others: those that listen, or those that do not.
func socketsBelow(fd, depth int, listening bool) (all []int) {
	for _, fd := range watchedBy(fd) {
		switch internet, listens := isInternet(fd); {
		case internet && listens == listening:
			all = append(all, fd)
		case !internet && depth > 0:
			all = append(all, socketsBelow(fd, depth-1, listening)...)
		}
	}
	return all
}
