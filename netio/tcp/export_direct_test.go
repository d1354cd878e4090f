// SPDX-License-Identifier: Apache-2.0

package tcp

import "tagbus/netio"

// DirectPieces is the most pieces of a message that a sender hands over by itself.
const DirectPieces = directPieces

// DivertDirect makes the direct sends of an endpoint, until undo, go to another
// descriptor. Those of the loop go to the socket as before. Threads: any.
func DivertDirect(ep netio.Endpoint, fd int) (undo func()) {
	q := &ep.(*endpoint).queue
	q.Mu.Lock()
	before := q.socket
	q.Mu.Unlock()
	q.openDirect(fd)
	return func() { q.openDirect(before) }
}
