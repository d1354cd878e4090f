// SPDX-License-Identifier: Apache-2.0

package bus_test

import (
	"math"
)

// operationBytes is what an operation takes of a program: one byte that names it and
// the peer that does it, and its arguments.
const operationBytes = 12

// A program is what hostile peers do: operations, one after another.
type program struct {
	left []byte // of it
	args []byte // not read, of the operation that is done; then they are 0
}

// byPeer is an operation of one of eight hostile peers.
func byPeer(peer int, operation byte, args ...byte) []byte {
	return append(append([]byte{operation | byte(peer)<<5}, args...), make([]byte, operationBytes-1-len(args))...)
}

// operation returns the next operation.
func (p *program) operation() (b byte) {
	n := min(operationBytes, len(p.left))
	b, p.args, p.left = p.left[0], p.left[1:n], p.left[n:]
	return b
}

func (p *program) byte() byte {
	if len(p.args) == 0 {
		return 0
	}
	b := p.args[0]
	p.args = p.args[1:]
	return b
}

// bytes returns the rest of the arguments, so often that they are n bytes.
func (p *program) bytes(n int) (b []byte) {
	for len(b) < n && len(p.args) > 0 {
		b = append(b, p.args[:min(len(p.args), n-len(b))]...)
	}
	return b
}

// number returns a count, a position, an id or a number of a lane: small, or one at
// which something could wrap or is refused.
func (p *program) number() uint64 {
	switch b := p.byte(); b {
	case 0xf0:
		return 1 << 53
	case 0xf1:
		return 1<<53 + 1
	case 0xf2:
		return 1 << 63
	case 0xf3:
		return math.MaxUint64
	case 0xf4:
		return math.MaxUint64 - uint64(p.byte())
	case 0xf5:
		return uint64(p.byte()) << 8
	default:
		return uint64(b)
	}
}
