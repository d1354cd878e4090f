// SPDX-License-Identifier: Apache-2.0

//go:build libfabric && cgo

package rdma

import (
	"unsafe"

	"tagbus/internal/invariants"
	"tagbus/netio"
)

// maxKeptPieces is for how many pieces an entry keeps the memory, which is not
// theirs.
const maxKeptPieces = 64

// setPieces notes where the data is. Empty pieces are left out, and those that
// lie behind each other are one. Errors: netio.ErrOutsideRegion.
func (e *entry) setPieces(data [][]byte, region []byte) error {
	for _, piece := range data {
		switch {
		case len(piece) == 0:
		case !within(piece, region):
			return netio.ErrOutsideRegion
		case len(e.pieces) > 0 && adjacent(e.pieces[len(e.pieces)-1], piece):
			last := &e.pieces[len(e.pieces)-1]
			// Both lie in the region, so this is not beyond it.
			*last = unsafe.Slice(unsafe.SliceData(*last), len(*last)+len(piece))
		default:
			e.pieces = append(e.pieces, piece)
		}
	}
	return nil
}

// address returns where memory begins, as a number.
func address(mem []byte) uintptr { return uintptr(unsafe.Pointer(unsafe.SliceData(mem))) }

// within reports whether piece lies in region.
func within(piece, region []byte) bool {
	begin := address(region)
	return address(piece) >= begin && address(piece)-begin <= uintptr(len(region)-len(piece)) && len(piece) <= len(region)
}

// adjacent reports whether b lies right behind a.
func adjacent(a, b []byte) bool { return address(a)+uintptr(len(a)) == address(b) }

// empty forgets the memory of users, which the entry would keep alive.
func (e *entry) empty() {
	e.Buffer = nil
	clear(e.pieces)
	e.pieces = e.pieces[:0]
	if cap(e.pieces) > maxKeptPieces {
		e.pieces = nil
	}
	e.headerBytes = 0
}

// takeChecksum notes the memory that the user must not change.
func (e *entry) takeChecksum() {
	if invariants.Enabled {
		e.checksum.Take(e.pieces...)
	}
}

// checkMemory reports an entry whose memory was changed before its key was reported.
func (e *endpoint) checkMemory(i uint64) {
	if !invariants.Enabled {
		return
	}
	sent := e.queue.at(i)
	if sent.checksum.Changed(sent.pieces...) {
		invariants.Report("the memory of the send with key %d from %v to %v (%d bytes) was changed before its key was reported",
			sent.Key, e.Local(), e.Remote(), sent.bytes)
	}
}
