// SPDX-License-Identifier: Apache-2.0

package overlap_test

import (
	"fmt"
	"testing"

	"tagbus/bus/internal/overlap"
	"tagbus/tags"
)

// That a publisher is to send nothing is known after the first rival that sends all: to look at all rivals
// of each would be work by the square of their number.
func TestChoiceConcerns_ofManyRivals(t *testing.T) {
	for _, rule := range []overlap.Rule{overlap.Oldest, overlap.Newest} {
		s, w := newSide(), &wish{rule}
		var all []*publisher
		for i := range 101 {
			p := of(fmt.Sprint("p", i), i, 7)
			s.comes(p)
			s.acks(p, w, 7)
			all = append(all, p)
		}
		p, first := all[100], all[0] // which leaves the tag to each rival, and to none
		if rule == overlap.Newest {
			p, first = first, p
		}
		s.divided = 0
		if s.Concerns(p, w, tags.Of(7, 8)) || s.divided != 1 {
			t.Errorf("rule %d: got a look at %d rivals, want that it is to send nothing after one", rule, s.divided)
		}
		if !s.Concerns(first, w, tags.Of(7, 8)) {
			t.Errorf("rule %d: got that the first is to send nothing, want that it sends 7", rule)
		}
		if got := s.Choose(p, w, tags.Of(7, 8)); !got.Equal(tags.Of(8)) {
			t.Errorf("rule %d: got %v of Choose, want 8, which none has", rule, got)
		}
	}
}

// With Newest a rival that sends nothing leaves nothing away: hundreds of those cost next to nothing.
func TestChoiceConcerns_ofRivalsThatSendNothing(t *testing.T) {
	s, w := newSide(), &wish{overlap.Newest}
	p := of("p", 0, 7)
	s.comes(p)
	for i := range 100 {
		s.comes(of(fmt.Sprint("rival", i), 1+i, 7))
	}
	s.divided = 0
	if sends := s.Concerns(p, w, tags.Of(7)); !sends || s.divided != 0 {
		t.Errorf("got %v and a look at the tags of %d rivals, want that the publisher sends 7, and none", sends, s.divided)
	}
}
