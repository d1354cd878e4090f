// SPDX-License-Identifier: Apache-2.0

package tags

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// ErrTooManyParts is returned by Set.UnmarshalLimited for a set with more ranges or
// patterns than its caller allows. Use a set of fewer parts.
var ErrTooManyParts = errors.New("tags: set has too many ranges or patterns")

// MaxHeadBytes is the most bytes of a binary form that ClaimedRanges needs.
const MaxHeadBytes = 1 + binary.MaxVarintLen64

// ClaimedRanges returns how many ranges a set has by the first bytes of its binary
// form. ok is false if these are too few or wrong; MaxHeadBytes of them are never too
// few. A set of n ranges and m patterns takes at most 20(n+m) + 21 bytes.
func ClaimedRanges(head []byte) (n uint64, ok bool) {
	d := setDecoder{data: head, at: 1}
	if len(head) == 0 || head[0] != setFormat {
		return 0, false
	}
	n, err := d.uvarint()
	return n, err == nil
}

// UnmarshalLimited is UnmarshalBinary for a set of at most so many ranges and so many
// patterns. The numbers are checked before anything is decoded or allocated for them.
//
//   - Errors: *DecodeError; ErrTooManyParts, wrapped with the numbers.
func (s *Set) UnmarshalLimited(data []byte, ranges, masks int) error {
	d := setDecoder{data: data, most: &limits{ranges, masks}}
	v, err := d.set()
	if err != nil {
		return err
	}
	*s = v
	return nil
}

// limits are the most parts that a decoder takes.
type limits struct{ ranges, masks int }

// allow refuses n items if that is more than the limit.
func (d *setDecoder) allow(what string, n uint64, limit int) error {
	if n > uint64(limit) {
		return fmt.Errorf("%w: %d %s, limit %d", ErrTooManyParts, n, what, limit)
	}
	return nil
}
