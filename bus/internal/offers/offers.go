// SPDX-License-Identifier: Apache-2.0

// Package offers looks which of many peers have tags that are wanted, and if none has, which
// are nearest to them.
package offers

import (
	"context"
	"slices"
	"sort"

	"tagbus/bus/internal/tagset"
	"tagbus/bus/internal/workqueue"
	"tagbus/tags"
)

// Search says what is looked for, and where.
type Search[P any] struct {
	Wanted   tags.Set
	Peers    []P // of those that are equally near the first are found
	Tags     func(P) tags.Set
	MaxSteps int // of the loop; after these no other peer is looked at
}

// Found says what was found.
type Found[P any] struct {
	Serving int // peers that have a wanted tag, or may have one
	Unseen  int // that were not looked at: their sets are too large

	// Nearest are up to 3 of those without a wanted tag: those with the least distance
	// between a wanted tag and one of theirs.
	Nearest []Near[P]
}

// Near is a peer without a wanted tag.
type Near[P any] struct {
	Peer     P
	Tags     tags.Set
	distance uint64
}

const (
	maxNearest   = 3 // that are named
	stepsPerPeer = 8 // of the loop, beside those for the tags
)

// Job returns the job that calls tell with what is found, unless ctx ends.
func (s Search[P]) Job(ctx context.Context, tell func(Found[P])) workqueue.Job {
	left, ends, total := s.Peers, tagset.Ends(s.Wanted), 0
	var found Found[P]
	return func(budget int) (steps int, done bool) {
		if ctx.Err() != nil {
			return 1, true
		}
		for len(left) > 0 && steps < budget {
			if total > s.MaxSteps {
				found.Unseen, left = len(left), nil
				break
			}
			cost := s.look(left[0], ends, &found)
			steps, total, left = steps+cost, total+cost, left[1:]
		}
		if len(left) > 0 {
			return steps, false
		}
		tell(found)
		return max(steps, 1), true
	}
}

// look adds a peer.
//
//   - ends: of what is wanted.
func (s *Search[P]) look(peer P, ends []tags.Tag, found *Found[P]) (steps int) {
	set := s.Tags(peer)
	most := 2*(set.Parts()+s.Wanted.Parts()) + tagset.StepsPerStep*workqueue.SliceSteps
	budget := tags.NewBudget(most)
	serves, err := budget.Intersects(set, s.Wanted)
	steps = stepsPerPeer + (most-max(0, budget.Left()))/tagset.StepsPerStep
	if serves || err != nil { // an error: it cannot be ruled out
		found.Serving++
		return steps
	}
	near := Near[P]{peer, set, tagset.Distance(set, ends)}
	at := sort.Search(len(found.Nearest), func(i int) bool { return found.Nearest[i].distance > near.distance })
	found.Nearest = slices.Insert(found.Nearest, at, near)
	found.Nearest = found.Nearest[:min(len(found.Nearest), maxNearest)]
	return steps + set.Parts()
}
