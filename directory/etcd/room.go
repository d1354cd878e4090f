// SPDX-License-Identifier: Apache-2.0

package etcd

import (
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

// roomAgain reports whether there is room for entries that had none.
func (s *shelf) roomAgain() bool {
	if !s.full || len(s.items) > s.limit/10*9 || s.weight > s.heaviest/10*9 {
		return false
	}
	s.full = false
	s.d.feed.Report(tooManySource, nil)
	return true
}
