package bus_test

import (
	"testing/synctest"
	"time"

	"tagbus/bus"
	"tagbus/tags"
)

// The model's live changes of tags, on both sides.

// allRemoved tells whether the publisher serves none of the tags, so that a
// subscription to them would wait.
func (r *modelRun) allRemoved(set tags.Set) bool {
	for tag := range set.All() {
		if !r.removed[tag] {
			return false
		}
	}
	return true
}

// serve changes the tags of the publisher.
func (r *modelRun) serve(set tags.Set, add bool) {
	change := r.pub.RemoveTags
	if add {
		change = r.pub.AddTags
	}
	if err := change(set); err != nil {
		r.failf("change the tags of the publisher: %v", err)
	}
	for tag := range set.All() {
		r.removed[tag] = !add
	}
}

// add adds tags to a live subscription: their account begins anew, that of the
// others goes on.
func (r *modelRun) add(s *modelSubscriber, set tags.Set) {
	if s.sub == nil || s.stalled {
		return
	}
	time.Sleep(time.Minute) // so that it is connected
	synctest.Wait()
	lost := s.lostNow()
	for tag := range set.All() {
		if !s.set.Contains(tag) {
			s.from[tag], s.last[tag] = r.published[tag], r.published[tag]
			s.delivered[tag], s.lost[tag] = 0, lost[tag]
		}
	}
	s.set = s.set.Union(set)
	must(r.t, s.sub.Add(set))
	must(r.t, s.sub.Wait(r.t.Context()))
}

// remove takes tags out of a live subscription, connected or not.
func (r *modelRun) remove(s *modelSubscriber, set tags.Set) {
	if s.sub == nil || s.stalled {
		return
	}
	left, err := s.set.Without(set)
	must(r.t, err)
	if left.IsEmpty() {
		return
	}
	must(r.t, s.sub.Remove(set))
	must(r.t, s.sub.Wait(r.t.Context()))
	synctest.Wait() // if the connection has just ended, the publisher hears of that by itself
	s.set = left
}

// lostNow returns what was reported lost since the subscription began.
func (s *modelSubscriber) lostNow() map[tags.Tag]uint64 {
	lost := make(map[tags.Tag]uint64)
	for _, e := range s.of(bus.Gap)[s.gapsSeen:] {
		lost[e.Tag] += e.Count
	}
	return lost
}
