// SPDX-License-Identifier: Apache-2.0

package bus_test

import (
	"testing/synctest"
	"time"

	"tagbus/tags"
)

// The model's live changes of tags, on both sides.

// allRemoved reports whether the publisher serves none of the tags, so that a
// subscription to them would wait.
func (r *modelRun) allRemoved(set tags.Set) bool {
	for tag := range set.All() {
		if !r.now.removed[tag] {
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
		r.now.removed[tag] = !add
	}
}

// add adds tags to a live subscription: their accounts begin again, those of the
// others go on.
func (r *modelRun) add(s *modelSubscriber, set tags.Set) {
	if s.sub == nil || !s.reachable() {
		return
	}
	time.Sleep(time.Minute) // so that it is connected
	synctest.Wait()
	for instance, book := range s.books {
		lost := reported(s.member, instance, s.gaps)
		for tag := range set.All() {
			if s.set.Contains(tag) {
				continue
			}
			book.delivered[tag], book.last[tag], book.lost[tag] = 0, 0, lost[tag]
			if book.from != nil {
				book.from[tag] = r.epochs[instance].published[tag]
			}
		}
	}
	s.set = s.set.Union(set)
	must(r.t, s.sub.Add(set))
	must(r.t, s.sub.Wait(r.t.Context()))
}

// remove takes tags out of a live subscription, connected or not.
func (r *modelRun) remove(s *modelSubscriber, set tags.Set) {
	if s.sub == nil || !s.reachable() {
		return
	}
	left, err := s.set.Without(set)
	must(r.t, err)
	if left.IsEmpty() {
		return
	}
	must(r.t, s.sub.Remove(set))
	must(r.t, s.sub.Wait(r.t.Context()))
	synctest.Wait()                    // if the connection has just ended, the publisher hears of that by itself
	s.loop.Do(func() { s.set = left }) // where deliver looks at it
}
