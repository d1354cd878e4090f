package bus

import (
	"iter"
	"slices"

	"tagbus/bus/internal/tagmap"
	"tagbus/bus/internal/tagset"
	"tagbus/tags"
)

// request is a subscription as one publisher knows it, or knew it when the
// connection was lost. Only one Subscribe of it is on its way at a time: a change
// meanwhile goes with the next one. Its methods make all its transitions; source.note
// counts each. Loop only.
//
//	         ask                acknowledged          leave            ended
//	fresh ────────► subscribing ────────────► active ───────► leaving ───────► fresh
//	                 ▲  │    ▲                  │
//	             ask │  │    └──────────────────┘
//	                 │  ▼ refused       ask
//	                denied
//
// disconnected leads from each of them to fresh, but keeps the tags that the publisher
// owes. From there ask resumes.
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

// rewant sets the tags that the publisher is to send. It does not owe other tags any
// more. rewant reports whether anything has changed.
func (r *request) rewant(want tags.Set) bool {
	if r.want.Equal(want) {
		return false
	}
	if gone, err := r.want.Without(want); err == nil {
		if acked, err := r.acked.Without(gone); err == nil { // otherwise want alone decides
			r.acked = acked
		}
	}
	r.want, r.current = want, false
	return true
}

// ask notes that a Subscribe for the wanted tags is on its way. It reports whether the
// request resumes: it was acknowledged on an earlier connection, and is not yet taken
// up on this one. A resuming request asks only for the tags that the publisher owes, so
// that it makes up for missed messages. Tags added meanwhile are asked for next.
func (r *request) ask() (resume bool) {
	resume = r.active.IsEmpty() && r.acked.Intersects(r.want)
	r.sent, r.whole, r.subscribing, r.denied = r.want, r.want, true, nil
	if resume {
		r.sent = r.goesOn()
	}
	return resume
}

// goesOn returns the wanted tags that the publisher owes, or all wanted tags if the
// difference is too complex.
func (r *request) goesOn() tags.Set {
	set, err := r.want.Intersection(r.acked)
	if err != nil || set.IsEmpty() {
		return r.want
	}
	return set
}

// acknowledged notes that the publisher sends the tags asked for. It reports whether
// the publisher acknowledged the subscription on an earlier connection too.
func (r *request) acknowledged() (again bool) {
	again = r.again
	r.subscribing, r.again = false, false
	r.active, r.acked = r.sent, r.sent
	if owed, err := r.sent.Intersection(r.want); err == nil {
		r.acked = owed // a tag that was removed meanwhile begins anew, even if it is wanted again before the answer to that
	}
	r.current = r.want.Equal(r.sent)
	return again
}

// refused notes why the publisher does not send the tags asked for. Active tags go on.
func (r *request) refused(err error) { r.subscribing, r.denied = false, err }

// leave reports whether an Unsubscribe is to be sent, and notes that. None is sent
// while a Subscribe is unanswered: a tag must not become active again before the
// publisher knows what was missed of it.
func (r *request) leave() (tell bool) {
	if r.subscribing || r.leaving || r.active.IsEmpty() {
		return false
	}
	r.leaving = true
	return true
}

// drop notes that nothing is wanted of the publisher any more. It owes nothing, and its
// refusal does not matter.
func (r *request) drop() { r.acked, r.denied = tags.Set{}, nil }

// ended notes that the publisher sends nothing any more, as was asked.
func (r *request) ended() {
	r.forgetConnection()
	r.acked = tags.Set{}
}

// disconnected notes the end of the connection. The publisher still owes the same tags,
// unless the subscription is over.
func (r *request) disconnected(over bool) {
	r.forgetConnection()
	if over {
		r.acked = tags.Set{}
	}
	r.again = !r.acked.IsEmpty()
}

func (r *request) forgetConnection() {
	r.sent, r.whole, r.active = tags.Set{}, tags.Set{}, tags.Set{}
	r.subscribing, r.leaving, r.denied = false, false, nil
}

// unanswered reports whether a Subscribe or an Unsubscribe is on its way.
func (r *request) unanswered() bool { return r.subscribing || r.leaving }

// settled reports whether nothing is left to ask for: all wanted tags were asked for,
// or refused.
func (r *request) settled() bool {
	if r.denied != nil {
		return r.whole.Equal(r.want)
	}
	return r.sent.Equal(r.want)
}

// owes reports whether the publisher has acknowledged that it sends a tag.
func (r *request) owes(tag tags.Tag) bool { return r.acked.Contains(tag) && r.want.Contains(tag) }

// knows reports whether the publisher was ever asked for a tag and may send it.
func (r *request) knows(tag tags.Tag) bool {
	return r.sent.Contains(tag) || r.active.Contains(tag) || r.acked.Contains(tag)
}

// note updates the counts and the index of src after a change of r, and forgets a
// request without content.
func (src *source) note(r *request) {
	open := r.unanswered() || !r.active.IsEmpty()
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

// sourceLane is what a subscriber knows of one lane of a publisher.
type sourceLane struct {
	received tagmap.Map[received]
	kept     int  // of received, when it was last pruned
	pruning  bool // received is being pruned

	messages uint64 // received, since the publisher was first met
	told     uint64 // of those, on this connection
	here     bool   // acknowledged on this connection

	// The requests by the tags that they may concern. Those for a few tags are listed
	// under each of these, so that thousands of them cost no more than one. The others
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
