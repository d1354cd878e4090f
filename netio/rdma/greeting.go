// SPDX-License-Identifier: Apache-2.0

//go:build libfabric && cgo

package rdma

import "encoding/binary"

// greeting is what each side sends the other when they connect: with the request,
// and with its acceptance.
//
//	offset  bytes  content, little-endian
//	0       4      "tbr" and the version, 2
//	4       4      size of the largest message that this side receives
//	8       4      size of the largest first message
//	12      4      window: messages that may be under way to this side
//	16      4      credits that an empty message stands for: a quarter of the window, or more
//
// What follows is ignored: verbs fills up with zeros.
type greeting struct {
	maxBytes, firstBytes, window, quantum uint32
}

const (
	greetingBytes = 20
	greetingMagic = "tbr\x02"
)

// marshal returns the bytes of g.
func (g greeting) marshal() []byte {
	b := append(make([]byte, 0, greetingBytes), greetingMagic...)
	for _, v := range []uint32{g.maxBytes, g.firstBytes, g.window, g.quantum} {
		b = binary.LittleEndian.AppendUint32(b, v)
	}
	return b
}

// parseGreeting returns false for what is no greeting.
func parseGreeting(b []byte) (g greeting, ok bool) {
	if len(b) < greetingBytes || string(b[:len(greetingMagic)]) != greetingMagic {
		return greeting{}, false
	}
	for i, v := range []*uint32{&g.maxBytes, &g.firstBytes, &g.window, &g.quantum} {
		*v = binary.LittleEndian.Uint32(b[len(greetingMagic)+4*i:])
	}
	// A smaller quantum would be more empty messages than there are buffers for.
	ok = g.maxBytes > 0 && g.firstBytes > 0 && g.window > 0 &&
		g.quantum <= g.window && creditReceives*uint64(g.quantum) >= uint64(g.window)
	return g, ok
}
