package bus

import (
	"cmp"
	"iter"

	"tagbus/subscription"
	"tagbus/tags"
)

// maxPositionList is how long a list of positions may be that gets another one.
const maxPositionList = subscription.MaxControlBytes - 128 - subscription.MaxPositionBytes

// maxCount is the largest position of a tag, and the most messages in total that a
// publisher may report lost.
const maxCount = 1 << 53

// comparePositions gives the order of their tags.
func comparePositions(a, b subscription.Position) int { return cmp.Compare(a.Tag, b.Tag) }

// positionList is ascending positions in the form that a control message has room
// for.
type positionList struct {
	bytes []byte
	last  tags.Tag
}

// full reports whether the list has no room for another position.
func (l *positionList) full() bool { return len(l.bytes) > maxPositionList }

// add adds a position behind the others.
func (l *positionList) add(p subscription.Position) {
	l.bytes = subscription.AppendPosition(l.bytes, l.last, p)
	l.last = p.Tag
}

// positionLists splits ascending positions into lists that fit one control
// message each.
func positionLists(positions []subscription.Position) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		var list positionList
		for _, p := range positions {
			if list.full() {
				if !yield(list.bytes) {
					return
				}
				list = positionList{}
			}
			list.add(p)
		}
		if len(list.bytes) > 0 {
			yield(list.bytes)
		}
	}
}
