// SPDX-License-Identifier: Apache-2.0

package subscription

import (
	"encoding/binary"
	"errors"
	"iter"

	"tagbus/tags"
)

// Position is how many messages of a tag one publisher has published since it
// started.
type Position struct {
	Tag   tags.Tag
	Count uint64
}

// MaxPositionBytes is the most that one position takes in a list.
const MaxPositionBytes = 2 * binary.MaxVarintLen64

// AppendPosition appends p to a list of positions. The tags of a list ascend;
// prev is the tag before, or 0 for the first.
//
//	uvarint  tag minus the tag before
//	uvarint  count
//
// Both in the shortest form; see encoding/binary.
func AppendPosition(list []byte, prev tags.Tag, p Position) []byte {
	list = binary.AppendUvarint(list, uint64(p.Tag-prev))
	return binary.AppendUvarint(list, p.Count)
}

var errPositions = errors.New("damaged list of positions")

// PositionsOf iterates over a list of positions. It ends with an error if the
// list is damaged: a number is cut off, above 64 bits or not in its shortest
// form, or the tags do not ascend.
func PositionsOf(list []byte) iter.Seq2[Position, error] {
	return func(yield func(Position, error) bool) {
		var tag tags.Tag
		for first := true; len(list) > 0; first = false {
			delta, n := shortestUvarint(list)
			if n <= 0 {
				yield(Position{}, errPositions)
				return
			}
			list = list[n:]
			count, n := shortestUvarint(list)
			if n <= 0 || !first && delta == 0 || tag+tags.Tag(delta) < tag {
				yield(Position{}, errPositions)
				return
			}
			list = list[n:]
			tag += tags.Tag(delta)
			if !yield(Position{tag, count}, nil) {
				return
			}
		}
	}
}

// shortestUvarint is binary.Uvarint but refuses, with n = 0, a number that
// could have been written in fewer bytes.
func shortestUvarint(b []byte) (v uint64, n int) {
	v, n = binary.Uvarint(b)
	if n > 1 && b[n-1] == 0 {
		return 0, 0
	}
	return v, n
}
