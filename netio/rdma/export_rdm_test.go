// SPDX-License-Identifier: Apache-2.0

//go:build libfabric && cgo

package rdma

import "tagbus/netio"

// Frame is what stands in front of a message without connection: kind, number of
// the connection and value.
type Frame struct {
	Kind      uint8
	To, Value uint64
}

// FrameBytes is the size of a frame.
const FrameBytes = frameBytes

// PutFrame returns the bytes of f with rest behind.
func PutFrame(f Frame, rest []byte) []byte {
	b := make([]byte, frameBytes, frameBytes+len(rest))
	frame{frameKind(f.Kind), f.To, f.Value}.put(b)
	return append(b, rest...)
}

// ParseFrame returns false for what is no frame.
func ParseFrame(b []byte) (f Frame, rest []byte, ok bool) {
	got, rest, ok := parseFrame(b)
	return Frame{uint8(got.kind), got.to, got.value}, rest, ok
}

// Strangers is how many addresses are kept beyond those of endpoints.
const Strangers = strangers

// Addresses returns how many addresses the hubs of b keep. Loop only.
func Addresses(b netio.Backend) (n int) {
	for _, h := range b.(*backend).hubs {
		n += len(h.addresses)
	}
	return n
}

// PeerIsGone reports whether the peer of an endpoint without connection has closed in order, and all that it has
// sent has come. Loop only.
func PeerIsGone(ep netio.Endpoint) bool { return ep.(*endpoint).allRead }

// PassLimit is the time after which an endpoint ends by itself. Loop only.
func PassLimit(ep netio.Endpoint) { ep.(*endpoint).limit.F() }
