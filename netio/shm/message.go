// SPDX-License-Identifier: Apache-2.0

//go:build linux

package shm

// message is what a writer has yet to put into its segment.
type message struct {
	header []byte
	pieces [][]byte
	size   int
	begun  bool // the header, and all before offset of the piece at next, is there
	next   int
	offset int
	put    int // bytes
}

// left returns how many bytes are missing.
func (m *message) left() int { return m.size - m.put }

// piece returns what is left of the next piece that is not empty, nil if there is none.
func (m *message) piece() []byte {
	for ; m.next < len(m.pieces); m.next, m.offset = m.next+1, 0 {
		if rest := m.pieces[m.next][m.offset:]; len(rest) > 0 {
			return rest
		}
	}
	return nil
}

// copyTo copies what comes next, as much as to has room for, which is not more than is
// left.
func (m *message) copyTo(to []byte) {
	n := 0
	if !m.begun {
		n = copy(to, m.header) // all: the room for a header is never divided
		m.begun = true
	}
	for n < len(to) {
		taken := copy(to[n:], m.piece())
		m.offset += taken
		n += taken
	}
	m.put += n
}

// run returns the number of bytes that come next and are to be copied, and whether the
// header is all of them: up to the first piece that r may lend.
func (m *message) run(r region) (n int, headerOnly bool) {
	if !m.begun {
		n = len(m.header)
	}
	at := n
	offset := m.offset
	for i := m.next; i < len(m.pieces); i, offset = i+1, 0 {
		rest := m.pieces[i][offset:]
		if _, lent := r.find(rest); lent {
			return n, n == at && n > 0
		}
		n += len(rest)
	}
	return n, false
}

// lendBytes is the size from which a piece in the region is lent and not copied: a copy
// of less costs no more than a descriptor.
const lendBytes = 1 << 10

// region is memory that is lent to the other side, nil if there is none.
type region []byte

// find returns where in r a piece is. It reports whether the piece is there, and large
// enough to be lent.
func (r region) find(piece []byte) (offset uint64, lent bool) {
	if len(piece) < lendBytes || len(r) == 0 {
		return 0, false
	}
	at := address(piece) - address(r) // below r it becomes a large number
	if at >= uint64(len(r)) || uint64(len(piece)) > uint64(len(r))-at {
		return 0, false
	}
	return at, true
}
