// SPDX-License-Identifier: Apache-2.0

package netiotest

import (
	"fmt"

	"tagbus/netio"
)

// receiveBufferChecks are about receive buffers of an endpoint.
var receiveBufferChecks = []check{
	{"an endpoint with receive buffers of its own receives", checkOwnReceive},
}

// sharingChecks are about buffers that endpoints share.
var sharingChecks = []check{
	{"params that conflict with shared buffers are refused", checkConflicts},
	{"endpoints share the send buffers of their backend", checkSharedSend},
	{"a shared buffer may be sent by another endpoint", checkOtherEndpoint},
	{"SendBuffer of a shared buffer is refused when too many sends are outstanding", checkSharedRefused},
	{"endpoints share the receive buffers of their backend", checkSharedReceive},
	{"endpoints share the receive buffers of their listen endpoint", checkListenReceive},
}

const (
	sharedBuffers      = 2         // for all connections
	sharedMessageBytes = 300 << 10 // as usual
)

// sharers is how many connections share them.
func sharers() int { return Few(20, 8) }

// exchange sends messages from very small to the largest in both directions of
// all connections at once, and checks that all arrive.
func (p *pair) exchange(t TB, opened, accepted []*end, largest int) {
	t.Helper()
	mem := p.memory(t, largest+sharers())
	for _, size := range []int{1, largest, 5_000, 100, largest / 4} {
		for i := range opened {
			for _, e := range []*end{opened[i], accepted[i]} {
				w := e.ways()[len(e.ways())-1]
				n := size
				if w == buffered {
					n = min(n, p.s.bufferBytes)
				}
				e.sendAll(t, w, netio.Key(n), nil, mem[i:i+n])
			}
		}
	}
	for i := range opened {
		for _, hop := range [][2]*end{{opened[i], accepted[i]}, {accepted[i], opened[i]}} {
			hop[0].waitIdle(t)
			hop[1].waitReceived(t, len(hop[0].sent))
			checkReceived(t, hop[0], hop[1], false)
		}
	}
}

func checkOwnReceive(t TB, s Suite) {
	s.Config.SharedReceive = netio.SharedBuffers{}
	for _, s.ReceiveBuffers = range []int{1, 3} {
		p := connectPair(t, s, nil)
		if !p.accepted.capabilities.Receive || !p.opened.capabilities.Receive {
			t.Errorf("Capabilities with receive buffers: got %+v and %+v, want Receive", p.accepted.capabilities, p.opened.capabilities)
		}
		p.exchange(t, []*end{p.opened}, []*end{p.accepted}, s.MessageBytes)
		p.server.pause(t, p.accepted)
		p.sendWhatFits(t, 50) // more than there are buffers
		p.fence(t)
		p.server.resume(t, p.accepted)
		p.exchange(t, []*end{p.opened}, []*end{p.accepted}, s.MessageBytes)
	}
}

func checkSharedReceive(t TB, s Suite) {
	s.Config.SharedReceive = netio.SharedBuffers{Buffers: sharedBuffers, BufferBytes: s.scaled(sharedMessageBytes)}
	p := openPair(t, s)
	var opened, accepted []*end
	for range sharers() {
		c, a := p.connect(t, p.client, p.server.listen(t, s, p.params()), p.params())
		opened, accepted = append(opened, c), append(accepted, a)
	}
	p.checkSharing(t, opened, accepted)
}

func checkListenReceive(t TB, s Suite) {
	s.Config.SharedReceive = netio.SharedBuffers{}
	p := openPair(t, s)
	listening := p.params()
	listening.Receive = netio.ReceiveParams{MaxMessageBytes: s.scaled(sharedMessageBytes), Buffers: sharedBuffers, Shared: true}
	p.l = p.server.listen(t, s, listening)
	var opened, accepted []*end
	for i := range sharers() { // one backend has only one endpoint to an address
		x := openSide(t, s, fmt.Sprintf("client %d", i))
		x.word = p.client.word
		c, a := p.connect(t, x, p.l, p.params())
		opened, accepted = append(opened, c), append(accepted, a)
	}
	p.checkSharing(t, opened, accepted)
}

// checkSharing checks that messages come through the few buffers of all, also
// while one endpoint of the server is paused.
func (p *pair) checkSharing(t TB, opened, accepted []*end) {
	t.Helper()
	p.exchange(t, opened, accepted, p.s.scaled(sharedMessageBytes))
	idle, before := accepted[0], len(accepted[0].received)
	p.server.hook(hooks{data: func(e *end, _ []byte) {
		if e == idle && len(e.received) == before+1 {
			e.ep.PauseReceive() // which may keep it a buffer, but only one
			p.server.locked(func() { e.paused = true })
		}
	}})
	for i := range 10 {
		opened[0].sendAll(t, opened[0].ways()[0], netio.Key(i), nil, p.client.word)
	}
	idle.waitReceived(t, before+1)
	p.exchange(t, opened[1:], accepted[1:], 20_000)
	p.server.hook(hooks{})
	p.server.resume(t, idle)
	p.exchange(t, opened, accepted, 20_000)
}
