// SPDX-License-Identifier: Apache-2.0

package snapshot

import (
	"slices"

	"tagbus/bus/state"
	"tagbus/tags"
)

// Limit removes from a state the tags that are not in a set.
func Limit(s *state.State, may tags.Set) {
	denied := func(tag state.Tag) bool { return !may.Contains(tag.Tag) }
	s.Busiest, s.Asked = slices.DeleteFunc(s.Busiest, denied), slices.DeleteFunc(s.Asked, denied)
	if has, err := tags.ParseSet(s.Tags); err != nil {
		s.Tags = "" // it is cut
	} else if both, err := has.Intersection(may); err != nil {
		s.Tags = ""
	} else {
		s.Tags = both.String()
	}
	for _, peers := range [][]state.Peer{s.Peers, s.Gone} {
		for i := range peers {
			peers[i].LostTags = slices.DeleteFunc(peers[i].LostTags, func(t state.LostTag) bool { return !may.Contains(t.Tag) })
			for j := range peers[i].Lanes {
				lane := &peers[i].Lanes[j]
				lane.Wanted = slices.DeleteFunc(lane.Wanted, func(t tags.Tag) bool { return !may.Contains(t) })
			}
		}
	}
}
