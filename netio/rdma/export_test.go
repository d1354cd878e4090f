//go:build libfabric && cgo

package rdma

import "tagbus/netio"

// BreakConnection ends the connection of an endpoint below the backend, as a
// network does that gives it up. Threads: any.
func BreakConnection(ep netio.Endpoint) {
	e := ep.(*endpoint)
	e.backend.loop.Post(func() {
		e.backend.turn.Lock()
		defer e.backend.turn.Unlock()
		if e.state == established || e.state == reported {
			_ = e.ep.Shutdown() // fails only if it has ended meanwhile
		}
	})
}
