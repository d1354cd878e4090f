// SPDX-License-Identifier: Apache-2.0

package etcd

import (
	"fmt"

	"tagbus/bus/directory"
	"tagbus/bus/directory/codec"
)

// hasRoom reports whether an entry may be kept, in the place of an old one if that is not nil.
func (s *shelf) hasRoom(old *item, weight int) bool {
	if old != nil {
		return weight <= old.weight || s.weight+weight-old.weight <= s.heaviest
	}
	return len(s.items) < s.limit && s.weight+weight <= s.heaviest
}

// weightOf returns how many bytes an entry takes, about: most are its tags.
func weightOf(e directory.Entry, value []byte) int {
	const rest, part = 512, 16
	return rest + min(len(value), codec.MaxFieldBytes) + part*e.Tags.Parts()
}

// fill says that there is no room for an entry.
func (s *shelf) fill(instance string) {
	s.full = true
	err := s.d.crowding(fmt.Sprintf("more than %d, or more than %d MB of them, so that %s and maybe others are not found", s.limit, s.heaviest>>20, instance))
	s.d.feed.Report(tooManySource, err)
	s.d.setCrowded(&s.d.full, err)
}

// roomAgain reports whether there is room for entries that had none.
func (s *shelf) roomAgain() bool {
	if !s.full || len(s.items) > s.limit*9/10 || s.weight > s.heaviest/10*9 {
		return false
	}
	s.full = false
	s.d.feed.Report(tooManySource, nil)
	s.d.setCrowded(&s.d.full, nil)
	return true
}
