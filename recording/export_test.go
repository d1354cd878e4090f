// SPDX-License-Identifier: Apache-2.0

package recording

// Empty empties a block, as one that is written.
func Empty(b *Block) { b.reset() }
