package bus

import (
	"fmt"
	"testing"

	"tagbus/tags"
)

// accountOf makes an account with lanes of so many entries, of a subscriber that is
// connected or not.
func accountOf(s *accounts, instance string, connected bool, lanes, entries int) {
	l := &link{peer: &Peer{Instance: instance}}
	for number := range lanes {
		n := s.of(l, uint16(number), Policy{})
		for tag := range entries {
			n.add(1, tags.Tag(tag), 1)
		}
	}
	if !connected {
		s.leave(l)
	}
}

// What is remembered of those that have gone is bounded in lanes too.
func TestTheGoneAreForgottenByTheirLanes(t *testing.T) {
	var s accounts
	for i := range 100 {
		accountOf(&s, fmt.Sprint(i), false, 16, 1000)
	}
	entries := 0
	for _, a := range s.byInstance {
		entries += a.entries()
	}
	if one := 16 * (1000 + laneEntries); entries > maxGoneTags || entries < maxGoneTags-one {
		t.Errorf("got %d entries of %d subscribers, want up to %d", entries, len(s.byInstance), maxGoneTags)
	}
	if _, sum, _ := s.states(); sum.Full+sum.Memory+sum.Connection+sum.LeftOut != 100*16*1000 {
		t.Errorf("got %+v lost in all, want %d", sum, 100*16*1000)
	}
}

// When all accounts take too much, the largest goes, of those connected.
func TestTheLargestAccountGoesFirst(t *testing.T) {
	var s accounts
	accountOf(&s, "small", true, 1, 10)
	accountOf(&s, "large", true, 2, 500)
	accountOf(&s, "gone", false, 2, 1000)
	if a, _ := s.largest(1e6); a != nil {
		t.Errorf("within the limit: got %v, want none", a.peer)
	}
	a, n := s.largest(1000)
	if a == nil || a.peer.Instance != "large" || n != 2*(500+laneEntries) {
		t.Fatalf("got %+v with %d entries, want large with %d", a, n, 2*(500+laneEntries))
	}
	s.forget(a)
	if s.connected("large") != nil {
		t.Error("got the account that was forgotten, want none")
	}
}
