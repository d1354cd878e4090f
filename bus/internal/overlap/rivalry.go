// SPDX-License-Identifier: Apache-2.0

package overlap

import "tagbus/bus/internal/workqueue"

// Publishers of one tag are a pair each with each other one, and a directory may have
// thousands of them: strangers that announce a tag would take memory by the square of their
// number. So pairs are few, or linear in the number of publishers. A pair that is not kept is as one that is Complex.
const (
	// MaxPairs is how many pairs are kept whatever publishers they are of: those of 512
	// publishers of one tag.
	MaxPairs = 1 << 17

	// AlwaysRivals is how many rivals a publisher may have beyond MaxPairs, so that a
	// tag of a few publishers is chosen from whatever many others announce.
	AlwaysRivals = 16
)

// rivalry is the room for pairs.
type rivalry struct {
	pairs int  // that are kept
	lacks bool // some that may have tags in common are not
}

// full reports whether no publisher with so many rivals gets another one.
func (r *rivalry) full(rivals int) bool { return r.pairs >= MaxPairs && rivals >= AlwaysRivals }

// others returns the publishers that a new or changed one is to be compared with.
func (c *Choice[S, U]) others(p *Publisher[S]) (others []*Publisher[S], steps int) {
	if !c.full(p.Count()) {
		return c.index.Meet(p, workqueue.SliceSteps)
	}
	steps = c.index.Put(p)
	for o := range p.rivals {
		others = append(others, o)
	}
	c.lack(p)
	return others, steps + len(others)
}

// admits reports whether two publishers are a pair, or may become one.
func (c *Choice[S, U]) admits(a, b *Publisher[S]) bool {
	if a.rivals[b] != nil || !c.full(max(a.Count(), b.Count())) {
		return true
	}
	if a.lo <= b.hi && b.lo <= a.hi {
		c.lack(a)
	}
	return false
}

// lack notes that a publisher may have tags in common with one that it is no pair with.
func (c *Choice[S, U]) lack(p *Publisher[S]) {
	if !c.lacks {
		c.lacks = true
		c.side.TooMany(p.Source)
	}
}

// makeUp compares all publishers again once there is room for those that had none.
func (c *Choice[S, U]) makeUp() {
	if !c.lacks || c.pairs > MaxPairs/2 {
		return
	}
	c.lacks = false
	c.post(func() {
		for p := range c.index.all {
			c.compareLater(p, nil)
		}
	})
}
