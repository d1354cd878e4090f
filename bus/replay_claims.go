package bus

import (
	"cmp"
	"slices"

	"tagbus/subscription"
	"tagbus/tags"
)

// claims are what the subscriptions of a group want to have replayed in one
// lane. They are found by tag, so that thousands of subscriptions to a tag each
// cost no more than one.
type claims struct {
	byTag  map[tags.Tag]claim // of subscriptions to few tags
	wide   []*wish
	stands []subscription.Position // where the subscriber stands, ascending; other tags at 0
}

// claim is what is wanted of a tag. A subscription that goes on comes before
// new ones, whatever these want: it has had some of the messages.
type claim struct {
	replay uint64 // messages
	resume bool   // what the subscriber has missed
}

func (c *claim) add(m *subscription.Subscribe) {
	c.replay, c.resume = max(c.replay, m.Replay), c.resume || m.Resume
}

// add takes over what one subscription wants, whether it is refused or not: the
// subscriber tells only once in a group where a tag stands.
func (s *claims) add(w *wish) {
	s.stands = append(s.stands, w.stands...)
	switch {
	case w.err != nil || w.request.Replay == 0 && !w.request.Resume:
	case few(w.set):
		if s.byTag == nil {
			s.byTag = make(map[tags.Tag]claim)
		}
		for tag := range w.set.All() {
			c := s.byTag[tag]
			c.add(w.request)
			s.byTag[tag] = c
		}
	default:
		s.wide = append(s.wide, w)
	}
}

// sort is called when all are added, and before standing.
func (s *claims) sort() {
	slices.SortFunc(s.stands, comparePositions)
}

func (s *claims) isEmpty() bool { return len(s.byTag) == 0 && len(s.wide) == 0 }

// of returns what is wanted of a tag.
func (s *claims) of(tag tags.Tag) (replay uint64, resume bool) {
	c := s.byTag[tag]
	for _, w := range s.wide {
		if w.set.Contains(tag) {
			c.add(w.request)
		}
	}
	return c.replay, c.resume
}

func (s *claims) standing(tag tags.Tag) uint64 {
	i, found := slices.BinarySearchFunc(s.stands, tag, func(p subscription.Position, tag tags.Tag) int {
		return cmp.Compare(p.Tag, tag)
	})
	if !found {
		return 0
	}
	return s.stands[i].Count
}
