// SPDX-License-Identifier: Apache-2.0

//go:build invariants

package invariants

// Checksum remembers what memory was like. Without the tag invariants it is
// empty and costs nothing.
type Checksum struct {
	sum   uint64
	taken bool
}

// Take remembers the bytes of pieces.
func (c *Checksum) Take(pieces ...[]byte) { c.sum, c.taken = Sum(pieces...), true }

// Changed reports whether the bytes differ from those of Take, if that was
// called, and forgets them.
func (c *Checksum) Changed(pieces ...[]byte) bool {
	changed := c.taken && c.sum != Sum(pieces...)
	*c = Checksum{}
	return changed
}
