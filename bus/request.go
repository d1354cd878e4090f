package bus

import (
	"iter"
	"slices"

	"tagbus/bus/internal/tagmap"
	"tagbus/tags"
)

// request is a subscription as one publisher knows it, or knew it when the
// connection was lost. Only one Subscribe of it is on its way at a time:
// whatever is changed meanwhile goes with the next one. Loop only.
type request struct {
	sub    *Subscription
	want   tags.Set // what this publisher is to send for it
	sent   tags.Set // what this connection was asked for last; empty: nothing
	whole  tags.Set // what was wanted then, of which sent may be a part
	active tags.Set // what this connection acknowledged last
	acked  tags.Set // what the publisher owes us: acknowledged, on this connection or one before

	subscribing bool  // a Subscribe has not been answered
	leaving     bool  // an Unsubscribe has not been answered
	current     bool  // what is wanted now has been acknowledged
	again       bool  // acknowledged on an earlier connection, and not yet on this one
	denied      error // why sent was refused

	open, owed bool       // as counted in the source
	keys       []tags.Tag // under which it is in the lane's index
}

// rewant takes over what the publisher is to send. What it need not send any
// more it does not owe. It tells whether anything has changed.
func (r *request) rewant(want tags.Set) bool {
	if r.want.Equal(want) {
		return false
	}
	if gone, err := r.want.Without(want); err == nil {
		if acked, err := r.acked.Without(gone); err == nil { // otherwise want alone tells
			r.acked = acked
		}
	}
	r.want, r.current = want, false
	return true
}

// resumes tells whether the subscription was acknowledged on an earlier
// connection and is not yet taken up on this one.
func (r *request) resumes() bool { return r.active.IsEmpty() && r.acked.Intersects(r.want) }

// goesOn returns what the publisher owes of what is wanted; all that is wanted
// if that cannot be found out.
func (r *request) goesOn() tags.Set {
	set, err := intersection(r.want, r.acked)
	if err != nil || set.IsEmpty() {
		return r.want
	}
	return set
}

// asked returns what need not be asked for again: what was sent, or what was
// refused.
func (r *request) asked() tags.Set {
	if r.denied != nil {
		return r.whole
	}
	return r.sent
}

// owes tells whether the publisher has acknowledged that it sends a tag.
func (r *request) owes(tag tags.Tag) bool { return r.acked.Contains(tag) && r.want.Contains(tag) }

// knows tells whether the publisher was ever asked for a tag and may send it.
func (r *request) knows(tag tags.Tag) bool {
	return r.sent.Contains(tag) || r.active.Contains(tag) || r.acked.Contains(tag)
}

// note keeps the counts and the index of src right after a change of r, and
// forgets a request of which nothing is left.
func (src *source) note(r *request) {
	open := r.subscribing || r.leaving || !r.active.IsEmpty()
	owed := !r.acked.IsEmpty()
	src.open += step(r.open, open)
	src.owing += step(r.owed, owed)
	r.open, r.owed = open, owed
	known := open || owed || r.denied != nil
	if known {
		src.requests[r.sub.id] = r
	} else {
		delete(src.requests, r.sub.id)
	}
	src.lane(r.sub.lane).index(r, known)
	src.version++
}

// step returns how a count of what is true changes.
func step(before, after bool) (n int) {
	if after {
		n++
	}
	if before {
		n--
	}
	return n
}

// sourceLane is what a subscriber knows of one lane of a publisher.
type sourceLane struct {
	received tagmap.Map[received]
	kept     int  // of received, when it was last pruned
	pruning  bool // received is being pruned

	messages uint64 // received, since the publisher was first met
	told     uint64 // of those, on this connection
	here     bool   // acknowledged on this connection

	// The requests by the tags that they may concern: those for a few tags by
	// each of these, so that thousands of them cost no more than one; the others
	// are asked one by one.
	byTag map[tags.Tag][]*request
	wide  map[*request]struct{}
}

// lane returns the state of the lane with a number.
func (src *source) lane(number uint16) *sourceLane {
	for int(number) >= len(src.lanes) {
		src.lanes = append(src.lanes, &sourceLane{byTag: make(map[tags.Tag][]*request), wide: make(map[*request]struct{})})
	}
	return src.lanes[number]
}

const fewTags = 16

// few tells whether a set has so few tags that a request for it is found by
// each of them.
func few(set tags.Set) bool {
	if set.Parts() > fewTags {
		return false
	}
	n, exact := set.Count()
	return exact && n <= fewTags
}

// index enters a request under the tags that it concerns now, or takes it out.
func (n *sourceLane) index(r *request, known bool) {
	for _, tag := range r.keys {
		left := slices.DeleteFunc(n.byTag[tag], func(o *request) bool { return o == r })
		if n.byTag[tag] = left; len(left) == 0 {
			delete(n.byTag, tag)
		}
	}
	r.keys = r.keys[:0]
	delete(n.wide, r)
	switch {
	case !known:
	case few(r.sent) && few(r.active) && few(r.acked):
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

// about returns the requests that may concern a tag.
func (n *sourceLane) about(tag tags.Tag) iter.Seq[*request] {
	return func(yield func(*request) bool) {
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

// minPrune is the number of tags below which a lane forgets none.
const minPrune = 1024
