// SPDX-License-Identifier: Apache-2.0

package request

import (
	"iter"
	"maps"
	"slices"

	"tagbus/bus/internal/tagset"
	"tagbus/tags"
)

// Book has the requests of a subscriber to one publisher that are open, owed or
// refused. The zero value is empty.
type Book[S any] struct {
	byID  map[uint64]*Request[S]
	lanes []index[S] // by the number of the lane
	open  int        // requests that are Open
	owing int        // requests for which the publisher owes messages
}

// index has the requests of a lane by the tags that they may concern. Those for a few
// tags are listed under each of these, so that thousands of them cost no more than one.
// The others are asked one by one.
type index[S any] struct {
	byTag map[tags.Tag][]*Request[S]
	wide  map[*Request[S]]struct{}
}

// Note takes over a change of a request: it is counted and found as it is now, and
// forgotten when nothing is left of it.
func (b *Book[S]) Note(r *Request[S]) {
	open, owed := r.Open(), !r.acked.IsEmpty()
	b.open += step(r.open, open)
	b.owing += step(r.owed, owed)
	r.open, r.owed = open, owed
	known := open || owed || r.denied != nil
	switch {
	case !known:
		delete(b.byID, r.id)
	case b.byID == nil:
		b.byID = map[uint64]*Request[S]{r.id: r}
	default:
		b.byID[r.id] = r
	}
	for int(r.lane) >= len(b.lanes) {
		b.lanes = append(b.lanes, index[S]{make(map[tags.Tag][]*Request[S]), make(map[*Request[S]]struct{})})
	}
	b.lanes[r.lane].enter(r, known)
}

// step returns the change of a count when one of its conditions changes.
func step(before, after bool) (n int) {
	if after {
		n++
	}
	if before {
		n--
	}
	return n
}

// enter enters a request under the tags that it concerns now, or takes it out.
func (n *index[S]) enter(r *Request[S], known bool) {
	for _, tag := range r.keys {
		left := slices.DeleteFunc(n.byTag[tag], func(o *Request[S]) bool { return o == r })
		if n.byTag[tag] = left; len(left) == 0 {
			delete(n.byTag, tag)
		}
	}
	r.keys = r.keys[:0]
	delete(n.wide, r)
	switch {
	case !known:
	case tagset.Few(r.sent) && tagset.Few(r.active) && tagset.Few(r.acked):
		for _, set := range [...]tags.Set{r.sent, r.active, r.acked} {
			for tag := range set.All() {
				if !slices.Contains(r.keys, tag) {
					r.keys = append(r.keys, tag)
					n.byTag[tag] = append(n.byTag[tag], r)
				}
			}
		}
	default:
		n.wide[r] = struct{}{}
	}
}

// Of returns the request of the subscription with an id, or nil.
func (b *Book[S]) Of(id uint64) *Request[S] { return b.byID[id] }

// AckedOf returns the tags that the publisher owes of the subscription with an id.
func (b *Book[S]) AckedOf(id uint64) (acked tags.Set) {
	if r := b.Of(id); r != nil {
		acked = r.Acked()
	}
	return acked
}

// Owed returns the subscriptions of all requests if the publisher owes messages, and otherwise nil.
func (b *Book[S]) Owed() (subs []S) {
	if b.Owing() > 0 {
		for _, r := range b.All() {
			subs = append(subs, r.Sub)
		}
	}
	return subs
}

// All returns the requests, in any order.
func (b *Book[S]) All() []*Request[S] { return slices.Collect(maps.Values(b.byID)) }

// Len returns how many requests there are.
func (b *Book[S]) Len() int { return len(b.byID) }

// Open returns how many requests are Open.
func (b *Book[S]) Open() int { return b.open }

// Owing returns for how many requests the publisher owes messages.
func (b *Book[S]) Owing() int { return b.owing }

// Unsettled reports whether a subscription that the publisher acknowledged on an
// earlier connection is not taken up on this one, so that the losses are unknown.
func (b *Book[S]) Unsettled() bool {
	for _, r := range b.byID {
		if r.again && r.owed {
			return true
		}
	}
	return false
}

// About returns the requests of a lane that may concern a tag.
func (b *Book[S]) About(lane uint16, tag tags.Tag) iter.Seq[*Request[S]] {
	return func(yield func(*Request[S]) bool) {
		if int(lane) >= len(b.lanes) {
			return
		}
		n := &b.lanes[lane]
		for _, r := range n.byTag[tag] {
			if !yield(r) {
				return
			}
		}
		for r := range n.wide {
			if !yield(r) {
				return
			}
		}
	}
}

// Owes reports whether the publisher has acknowledged a subscription of a lane to a tag that
// has not ended.
func (b *Book[S]) Owes(lane uint16, tag tags.Tag) bool {
	for r := range b.About(lane, tag) {
		if r.Owes(tag) {
			return true
		}
	}
	return false
}

// Wide returns how many requests of a lane are for so many tags that About returns them
// for each tag. That is its cost.
func (b *Book[S]) Wide(lane uint16) int {
	if int(lane) >= len(b.lanes) {
		return 0
	}
	return len(b.lanes[lane].wide)
}

// Knows reports whether the publisher may send a tag in a lane: it was asked for the
// tag, or owes it.
func (b *Book[S]) Knows(lane uint16, tag tags.Tag) bool {
	for r := range b.About(lane, tag) {
		if r.knows(tag) {
			return true
		}
	}
	return false
}
