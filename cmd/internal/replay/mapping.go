// SPDX-License-Identifier: Apache-2.0

//go:build linux

package replay

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"tagbus/tags"
)

// Mapping is one FROM=TO of --map: the tags of a range become those that follow another.
type Mapping struct {
	first, last tags.Tag // as they were recorded
	to          tags.Tag // that of first
}

// UnmarshalText reads TAG=TAG or FIRST-LAST=TAG.
func (m *Mapping) UnmarshalText(text []byte) error {
	left, right, ok := strings.Cut(string(text), "=")
	if !ok {
		return fmt.Errorf("got %q, want FROM=TO: tags, or a range FIRST-LAST and the tag for FIRST", text)
	}
	from, err := tags.ParseSet(left)
	if err != nil {
		return err
	}
	to, err := tags.Parse(right)
	if err != nil {
		return err
	}
	if from.IsEmpty() || from.Parts() != 1 {
		return fmt.Errorf("got %q before =, want one tag or one range FIRST-LAST", left)
	}
	for first, last := range from.Ranges() {
		if uint64(last-first) > math.MaxUint64-uint64(to) {
			return fmt.Errorf("%q: from %v on there are fewer tags than in %q", text, to, left)
		}
		*m = Mapping{first, last, to}
		return nil
	}
	return fmt.Errorf("got the pattern %q before =, want one tag or one range FIRST-LAST", left)
}

// String returns the mapping as UnmarshalText reads it.
func (m Mapping) String() string {
	if m.first == m.last {
		return fmt.Sprintf("%v=%v", m.first, m.to)
	}
	return fmt.Sprintf("%v-%v=%v", m.first, m.last, m.to)
}

// mapper says which tag a message gets. The zero value keeps all.
type mapper []Mapping // ordered by first

// newMapper returns an error if two mappings are about the same tag.
func newMapper(list []Mapping) (mapper, error) {
	m := mapper(slices.Clone(list))
	slices.SortFunc(m, func(a, b Mapping) int { return cmp.Compare(a.first, b.first) })
	for i := 1; i < len(m); i++ {
		if m[i].first <= m[i-1].last {
			return nil, fmt.Errorf("--map %v and %v both say what becomes of %v: leave one of them out", m[i-1], m[i], m[i].first)
		}
	}
	return m, nil
}

// of returns the tag under which the messages of a recorded tag are published.
func (m mapper) of(t tags.Tag) tags.Tag {
	if len(m) == 0 {
		return t
	}
	i, found := slices.BinarySearchFunc(m, t, func(r Mapping, t tags.Tag) int { return cmp.Compare(r.first, t) })
	if !found {
		i--
	}
	if i < 0 || t > m[i].last {
		return t
	}
	return m[i].to + (t - m[i].first)
}
