// SPDX-License-Identifier: Apache-2.0

package tcp

import (
	"unsafe"

	"golang.org/x/sys/unix"

	"tagbus/internal/invariants"
)

// pieceMemory returns the user's memory that an entry sends. For builds with the
// tag invariants: it allocates.
func (e *entry) pieceMemory() [][]byte {
	var all [][]byte
	for _, vectors := range [][]unix.Iovec{e.pieces[:], e.more} {
		for _, v := range vectors {
			if v.Base != nil {
				all = append(all, unsafe.Slice(v.Base, v.Len))
			}
		}
	}
	return all
}

// takeChecksum notes the memory that the user must not change.
func (e *entry) takeChecksum() {
	if invariants.Enabled {
		e.checksum.Take(e.pieceMemory()...)
	}
}

// checkMemory reports an entry whose memory was changed before its key was reported.
func (e *endpoint) checkMemory(i uint64) {
	if !invariants.Enabled {
		return
	}
	sent := e.queue.at(i)
	if sent.checksum.Changed(sent.pieceMemory()...) {
		invariants.Report("the memory of the send with key %d from %v to %v (%d bytes) was changed before its key was reported",
			sent.Key, e.Local(), e.Remote(), sent.bytes-lengthBytes)
	}
}
