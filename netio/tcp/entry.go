// SPDX-License-Identifier: Apache-2.0

package tcp

import (
	"encoding/binary"
	"unsafe"

	"golang.org/x/sys/unix"

	"tagbus/internal/invariants"
	"tagbus/netio"
	"tagbus/netio/internal/handover"
)

const (
	// inlinePieces are the pieces of a message that need no memory of their
	// own in the queue.
	inlinePieces = 2

	// keptPieces is how much of that memory an entry keeps for the next
	// message.
	keptPieces = 64
)

// entry is an accepted send.
type entry struct {
	checksum invariants.Checksum

	handover.Entry
	bytes int // of the frame

	// The frame: head, then pieces, then more. Of a copied message all is in
	// the first piece.
	head      [lengthBytes + netio.MaxHeaderBytes]byte
	headBytes int
	pieces    [inlinePieces]unix.Iovec
	more      []unix.Iovec
}

func (e *entry) setHead(size int, header []byte) {
	binary.LittleEndian.PutUint32(e.head[:], uint32(size))
	e.headBytes = lengthBytes + copy(e.head[lengthBytes:], header)
	e.bytes = lengthBytes + size
}

// setPieces notes where the data is; empty pieces are left out.
func (e *entry) setPieces(data [][]byte) {
	n := 0
	for _, piece := range data {
		switch {
		case len(piece) == 0:
		case n < inlinePieces:
			e.pieces[n] = vector(piece)
			n++
		default:
			e.more = append(e.more, vector(piece))
		}
	}
}

// empty forgets the memory of users, which the entry would keep alive.
func (e *entry) empty() {
	e.Buffer = nil
	e.pieces = [inlinePieces]unix.Iovec{}
	clear(e.more)
	e.more = e.more[:0]
	if cap(e.more) > keptPieces {
		e.more = nil
	}
}

// vector describes a piece of memory of at least one byte to the system.
func vector(piece []byte) unix.Iovec {
	v := unix.Iovec{Base: unsafe.SliceData(piece)}
	v.SetLen(len(piece))
	return v
}
