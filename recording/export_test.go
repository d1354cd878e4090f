// SPDX-License-Identifier: Apache-2.0

package recording

// Empty empties a block, as one that is written.
func Empty(b *Block) { b.reset() }

// Memory returns how many bytes of records a block has room for.
func Memory(b *Block) int { return cap(b.body) }

// SetRoom sets how many bytes a block may have.
func SetRoom(b *Builder, room int) { b.room = room }
