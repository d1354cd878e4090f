// SPDX-License-Identifier: Apache-2.0

package fanout

import (
	"cmp"
	"slices"

	"tagbus/bus/internal/tagset"
	"tagbus/subscription"
	"tagbus/tags"
)

// claims has what the subscriptions of a group ask to be replayed in one lane. They
// are found by tag, so that thousands of subscriptions to a tag each cost no more than
// one.
type claims struct {
	byTag  map[tags.Tag]claim // of subscriptions to few tags
	wide   []*Wish
	stands [][]subscription.Position // positions of the subscriber in others, each list ascending; a tag not listed is at 0
}

// claim is the replay asked for of a tag. A resumed subscription takes precedence over
// new ones, since it has had some of the messages.
type claim struct {
	replay uint64 // messages
	resume bool   // what the subscriber has missed
	stands uint64 // where the subscriber stands
}

// add takes over the claim of one subscription.
func (c *claim) add(m *subscription.Subscribe) {
	c.replay, c.resume = max(c.replay, m.Replay), c.resume || m.Resume
}

// add takes over the claim and the positions of one subscription, even of a refused
// one: the subscriber sends the position of a tag only once in a group.
func (cs *claims) add(w *Wish) {
	if cs.byTag == nil {
		cs.byTag = make(map[tags.Tag]claim)
	}
	if len(w.stands) > tagset.FewTags {
		cs.stands = append(cs.stands, w.stands)
	} else {
		for _, p := range w.stands {
			c := cs.byTag[p.Tag]
			c.stands = p.Count
			cs.byTag[p.Tag] = c
		}
	}
	switch {
	case w.Err != nil || w.Request.Replay == 0 && !w.Request.Resume:
	case tagset.Few(w.Set):
		for tag := range w.Set.All() {
			c := cs.byTag[tag]
			c.add(w.Request)
			cs.byTag[tag] = c
		}
	default:
		cs.wide = append(cs.wide, w)
	}
}

// steps returns the cost of of.
func (cs *claims) steps() int { return 1 + (len(cs.wide)+len(cs.stands))/2 }

// of returns the claim of a tag.
func (cs *claims) of(tag tags.Tag) (replay uint64, resume bool) {
	c := cs.byTag[tag]
	for _, w := range cs.wide {
		if w.Set.Contains(tag) {
			c.add(w.Request)
		}
	}
	return c.replay, c.resume
}

// standing returns where the subscriber stands in a tag.
func (cs *claims) standing(tag tags.Tag) uint64 {
	for _, list := range cs.stands {
		i, found := slices.BinarySearchFunc(list, tag, func(p subscription.Position, tag tags.Tag) int {
			return cmp.Compare(p.Tag, tag)
		})
		if found {
			return list[i].Count
		}
	}
	return cs.byTag[tag].stands
}
