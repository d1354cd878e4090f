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
	stands [][]subscription.Position // where the subscriber stands in others, each ascending; what is not listed is at 0
}

// claim is what is wanted of a tag. A subscription that goes on comes before
// new ones, whatever these want: it has had some of the messages.
type claim struct {
	replay uint64 // messages
	resume bool   // what the subscriber has missed
	stands uint64 // where the subscriber stands
}

func (c *claim) add(m *subscription.Subscribe) {
	c.replay, c.resume = max(c.replay, m.Replay), c.resume || m.Resume
}

// add takes over what one subscription wants, and what it tells, whether it is
// refused or not: the subscriber tells only once in a group where a tag stands.
func (s *claims) add(w *wish) {
	if s.byTag == nil {
		s.byTag = make(map[tags.Tag]claim)
	}
	if len(w.stands) > fewTags {
		s.stands = append(s.stands, w.stands)
	} else {
		for _, p := range w.stands {
			c := s.byTag[p.Tag]
			c.stands = p.Count
			s.byTag[p.Tag] = c
		}
	}
	switch {
	case w.err != nil || w.request.Replay == 0 && !w.request.Resume:
	case few(w.set):
		for tag := range w.set.All() {
			c := s.byTag[tag]
			c.add(w.request)
			s.byTag[tag] = c
		}
	default:
		s.wide = append(s.wide, w)
	}
}

// steps returns what it costs to find out what is wanted of a tag.
func (s *claims) steps() int { return 1 + (len(s.wide)+len(s.stands))/2 }

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
	for _, list := range s.stands {
		i, found := slices.BinarySearchFunc(list, tag, func(p subscription.Position, tag tags.Tag) int {
			return cmp.Compare(p.Tag, tag)
		})
		if found {
			return list[i].Count
		}
	}
	return s.byTag[tag].stands
}
