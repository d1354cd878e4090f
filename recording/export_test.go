// SPDX-License-Identifier: Apache-2.0

package recording

// Empty empties a block, as one that is written.
func Empty(b *Block) { b.reset() }

// Memory returns how many bytes of records a block has room for.
func Memory(b *Block) int { return cap(b.body) }

// Remembered returns how many publishers a Reader remembers, and the bytes of their text.
func Remembered(r *Reader) (n, bytes int) { return len(r.peers.known), r.peers.bytes }

// SetRoom sets how many bytes a block may have.
func SetRoom(b *Builder, room int) { b.room = room }

// SetFree sets the work of an iteration that the bytes of a file need not be worth.
func SetFree(r *Reader, work int64) { r.free = work }

// VerifyWithin is Verify that follows so many positions and series without messages.
func VerifyWithin(r *Reader, positions, lost int64) *Report {
	return verify(Readers{r}.Recordings(), positions, lost)
}
