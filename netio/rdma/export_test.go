// SPDX-License-Identifier: Apache-2.0

//go:build libfabric && cgo

package rdma

import "tagbus/netio"

// BreakConnection ends the connection of an endpoint below the backend, as a
// network does that gives it up. Threads: any.
func BreakConnection(ep netio.Endpoint) {
	e := ep.(*endpoint)
	e.backend.EventLoop.Post(func() {
		e.backend.Turn.Lock()
		defer e.backend.Turn.Unlock()
		if e.state == established || e.state == reported {
			_ = e.ep.Shutdown() // fails only if it has ended meanwhile
		}
	})
}

// Greeting is what the sides of a connection tell each other: the sizes of the
// largest and of the largest first message, the window and the credits of an
// empty message.
type Greeting = [4]uint32

// MarshalGreeting returns the bytes of g.
func MarshalGreeting(g Greeting) []byte { return greeting{g[0], g[1], g[2], g[3]}.marshal() }

// ParseGreeting returns false for what is no greeting.
func ParseGreeting(b []byte) (Greeting, bool) {
	g, ok := parseGreeting(b)
	return Greeting{g.maxBytes, g.firstBytes, g.window, g.quantum}, ok
}

// ReceiveBytes returns the memory of the receive buffers that the endpoints of a
// backend share. Threads: the loop.
func ReceiveBytes(b netio.Backend) (bytes int) {
	for _, d := range b.(*backend).devices.all {
		if d.receive != nil {
			bytes += len(d.receive.mem)
		}
	}
	return bytes
}

// Regions returns how many regions of users the devices of a backend know.
// Threads: the loop.
func Regions(b netio.Backend) (n int) {
	for _, d := range b.(*backend).devices.all {
		n += len(d.regions)
	}
	return n
}
