// SPDX-License-Identifier: Apache-2.0

// Package positions puts the positions of tags in order, into lists that fit control
// messages, and out of them again.
//
// A position is how many messages of a tag are published. A connection of many tags says
// many of them, so no step here is longer than one list.
//
//   - A List takes positions that ascend, and is cut where a message is full. Lists cuts
//     all of them at once.
//   - A Merge sorts positions in pieces.
//   - A Standing is the receiver's side: lists of a subscriber that resumes.
package positions

import (
	"cmp"
	"iter"
	"slices"

	"tagbus/subscription"
	"tagbus/tags"
)

// Max is the largest position of a tag, and the most messages in total that a publisher
// may report lost. Sums of such numbers do not wrap.
const Max = 1 << 53

// maxList is the length from which a list takes no further position. The message
// around it takes less than 128 bytes.
const maxList = subscription.MaxControlBytes - 128 - subscription.MaxPositionBytes

// Compare gives the order of the tags of a and b.
func Compare(a, b subscription.Position) int { return cmp.Compare(a.Tag, b.Tag) }

// List is ascending positions as bytes of one control message. The zero value is empty.
type List struct {
	bytes []byte
	last  tags.Tag
}

// Add adds a position behind the others. If the list has no room for it, the result is
// the list, and a new one begins with p; otherwise nil.
func (l *List) Add(p subscription.Position) (full []byte) {
	if len(l.bytes) > maxList {
		full = l.Take()
	}
	l.bytes = subscription.AppendPosition(l.bytes, l.last, p)
	l.last = p.Tag
	return full
}

// Take returns the list, nil if it is empty, and begins a new one.
func (l *List) Take() []byte {
	b := l.bytes
	*l = List{}
	return b
}

// Lists splits ascending positions into lists that fit one control message each.
func Lists(positions []subscription.Position) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		var list List
		for _, p := range positions {
			if full := list.Add(p); full != nil && !yield(full) {
				return
			}
		}
		if rest := list.Take(); rest != nil {
			yield(rest)
		}
	}
}

// Merge has positions in several sorted pieces, which are merged as they are taken:
// sorting a million at once takes long. The zero value is empty.
type Merge struct {
	heap [][]subscription.Position // none is empty; by the first tag
}

// Add adds positions, which it keeps and sorts.
func (m *Merge) Add(piece []subscription.Position) {
	if len(piece) == 0 {
		return
	}
	slices.SortFunc(piece, Compare)
	m.heap = append(m.heap, piece)
	for i := len(m.heap) - 1; i > 0 && m.less(i, (i-1)/2); i = (i - 1) / 2 {
		m.heap[i], m.heap[(i-1)/2] = m.heap[(i-1)/2], m.heap[i]
	}
}

// Pop takes the position of the lowest tag. It returns false if there is none.
func (m *Merge) Pop() (p subscription.Position, ok bool) {
	if len(m.heap) == 0 {
		return p, false
	}
	p = m.heap[0][0]
	if m.heap[0] = m.heap[0][1:]; len(m.heap[0]) == 0 {
		last := len(m.heap) - 1
		m.heap[0] = m.heap[last]
		m.heap = m.heap[:last]
	}
	for i := 0; ; {
		low := i
		for child := 2*i + 1; child <= 2*i+2 && child < len(m.heap); child++ {
			if m.less(child, low) {
				low = child
			}
		}
		if low == i {
			return p, true
		}
		m.heap[i], m.heap[low] = m.heap[low], m.heap[i]
		i = low
	}
}

func (m *Merge) less(i, j int) bool { return m.heap[i][0].Tag < m.heap[j][0].Tag }
