// SPDX-License-Identifier: Apache-2.0

package door

import "encoding/binary"

// What is looked at of HTTP/2 (RFC 9113, section 6).
const (
	frameData    = 0
	frameHeaders = 1
	frameReset   = 3

	flagEnd    = 0x1 // of data and headers: the last of the stream
	flagPadded = 0x8 // of data

	prefaceBytes = len("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")
)

// frames cuts what is sent on a connection of HTTP/2 into frames. The zero value begins with the
// header of one.
type frames struct {
	head [9]byte
	have int // bytes of head
	left int // of the payload, to come
	pad  int // of them, at the end; -1: the byte that says how many is to come
}

func (f *frames) kind() byte      { return f.head[3] }
func (f *frames) has(b byte) bool { return f.head[4]&b != 0 }
func (f *frames) stream() uint32  { return binary.BigEndian.Uint32(f.head[5:]) &^ (1 << 31) }

// feed takes bytes, and calls use for each piece of a payload, and once for a payload of none.
//
//   - data: without padding. end: it is the last piece.
func (f *frames) feed(b []byte, use func(data []byte, end bool)) {
	for len(b) > 0 {
		switch {
		case f.have < len(f.head):
			n := copy(f.head[f.have:], b)
			f.have, b = f.have+n, b[n:]
			if f.have == len(f.head) {
				f.begin(use)
			}
		case f.pad < 0:
			f.left--
			f.pad, b = min(int(b[0]), f.left), b[1:]
			f.piece(nil, use)
		default:
			n := min(len(b), f.left)
			data := b[:min(n, max(0, f.left-f.pad))]
			f.left, b = f.left-n, b[n:]
			f.piece(data, use)
		}
	}
}

// begin begins the payload of a frame whose header is there.
func (f *frames) begin(use func(data []byte, end bool)) {
	f.left, f.pad = int(f.head[0])<<16|int(f.head[1])<<8|int(f.head[2]), 0
	if f.kind() == frameData && f.has(flagPadded) && f.left > 0 {
		f.pad = -1
	}
	if f.left == 0 {
		f.piece(nil, use)
	}
}

// piece hands a piece of the payload on.
func (f *frames) piece(data []byte, use func(data []byte, end bool)) {
	end := f.left == 0
	if end {
		f.have = 0
	}
	use(data, end)
}
