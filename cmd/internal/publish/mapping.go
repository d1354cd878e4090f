// SPDX-License-Identifier: Apache-2.0

package publish

import (
	"encoding/binary"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"tagbus/tags"
)

// Mapping says which tag a message gets. The zero value is round robin.
type Mapping struct {
	byOffset bool
	offset   int
}

// tagBytes is the size of a tag in a record.
const tagBytes = 8

// UnmarshalText reads round-robin or offset:N.
func (m *Mapping) UnmarshalText(text []byte) error {
	if string(text) == "round-robin" {
		*m = Mapping{}
		return nil
	}
	digits, isOffset := strings.CutPrefix(string(text), "offset:")
	offset, err := strconv.ParseUint(digits, 10, 30)
	if !isOffset || err != nil {
		return fmt.Errorf("%q is no rule: want round-robin or offset:N", text)
	}
	*m = Mapping{true, int(offset)}
	return nil
}

// String returns the rule as UnmarshalText reads it.
func (m Mapping) String() string {
	if m.byOffset {
		return fmt.Sprintf("offset:%d", m.offset)
	}
	return "round-robin"
}

var errRecordHasNoTag = errors.New("record is too short to hold a tag there")

// tagIn returns the tag that stands in a record.
func (m Mapping) tagIn(data []byte) (tags.Tag, error) {
	if len(data) < m.offset+tagBytes {
		return 0, fmt.Errorf("%w: %d bytes, --map %v needs %d", errRecordHasNoTag, len(data), m, m.offset+tagBytes)
	}
	return tags.Tag(binary.LittleEndian.Uint64(data[m.offset:])), nil
}

// roundRobin goes through tags in turn.
type roundRobin struct {
	tags []tags.Tag
	at   int
}

// newRoundRobin refuses sets that are too large to be gone through.
func newRoundRobin(set tags.Set) (*roundRobin, error) {
	r := new(roundRobin)
	for t := range set.All() {
		if len(r.tags) == maxRoundRobin {
			return nil, fmt.Errorf("--tags: round robin takes at most %d tags and the set has more: name fewer, or use --map offset:N", maxRoundRobin)
		}
		r.tags = append(r.tags, t)
	}
	return r, nil
}

// next returns the next tag and its position in the set.
func (r *roundRobin) next() (tags.Tag, int) {
	at := r.at
	if r.at++; r.at == len(r.tags) {
		r.at = 0
	}
	return r.tags[at], at
}
