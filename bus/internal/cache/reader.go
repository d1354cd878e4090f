// SPDX-License-Identifier: Apache-2.0

package cache

// Reader looks at the messages of a cache, which does not change from Lock to Unlock.
// A message is named by a number; 0 is none.
type Reader struct{ c *Cache }

// Lock returns a reader. Add waits until its Unlock.
func (c *Cache) Lock() Reader {
	c.mu.Lock()
	return Reader{c}
}

// Unlock ends the use of the reader.
func (r Reader) Unlock() { r.c.mu.Unlock() }

// Newest returns the oldest of the newest n messages of a line, or of as many as there
// are, and their number.
func (r Reader) Newest(line, n uint32) (m, count uint32) {
	l := &r.c.lines[line]
	n = min(n, l.count)
	if n == 0 {
		return 0, 0
	}
	if n == l.count {
		return l.first, n
	}
	m = l.last
	for range n - 1 {
		m = r.c.blocks[m].before
	}
	return m, n
}

// Last returns the newest message of a line, and how many the line has.
func (r Reader) Last(line uint32) (m, count uint32) {
	l := &r.c.lines[line]
	return l.last, l.count
}

// Before returns the next older message of the same line. That of the oldest is
// meaningless.
func (r Reader) Before(m uint32) uint32 { return r.c.blocks[m].before }

// After returns the next newer message of the same line, or 0.
func (r Reader) After(m uint32) uint32 { return r.c.blocks[m].after }

// Size returns the bytes of the payload of a message.
func (r Reader) Size(m uint32) int { return int(r.c.blocks[m].size) }

// Status returns the status of a message.
func (r Reader) Status(m uint32) uint16 { return r.c.blocks[m].status }

// Pieces calls f with the payload of a message, in pieces.
func (r Reader) Pieces(m uint32, f func(piece []byte)) {
	b := &r.c.blocks[m]
	for left := int(b.size); left > 0; b = &r.c.blocks[b.next] {
		n := min(left, blockData)
		f(b.data[:n])
		left -= n
	}
}
