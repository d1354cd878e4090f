// SPDX-License-Identifier: Apache-2.0

package fanout

import (
	"errors"
	"testing"

	"tagbus/bus/internal/ledger"
	"tagbus/bus/internal/workqueue"
	"tagbus/subscription"
	"tagbus/tags"
)

var errTaken = errors.New("another connection has a tag")

// own makes a connection subscribe to tags that no other one has. It returns the group, of which
// nothing is done yet.
func (b *leaveBed) own(box, other *modelBox, id uint64, set tags.Set) *Group {
	return box.Subscribe([]Wish{{Request: &subscription.Subscribe{ID: id, Lane: 1}, Set: set}}, Terms{
		Check: func(w *Wish) (refusal, fault error) {
			if _, taken := other.Common(w.Set); taken {
				return nil, errTaken
			}
			return nil, nil
		},
		Steps:    func(*Wish) int { return 1 },
		Account:  func(w *Wish) *ledger.Lane { return account(1, w) },
		HandOver: func([]tags.Set) []tags.Set { return nil },
		Entered:  func() {},
	})
}

// runGroup does all of a group, and returns its fault.
func runGroup(g *Group) error {
	for done := false; !done; {
		_, done = g.Run(workqueue.SliceSteps)
	}
	_, fault := g.Failed()
	return fault
}

// TestATagHasOneOwner: as long as the tags that a connection gives up are taken off the routes, in slices,
// messages of those that are left go there. So no other connection gets them.
func TestATagHasOneOwner(t *testing.T) {
	const known = 2000
	all, err := tags.Range(0, known-1)
	if err != nil {
		t.Fatal(err)
	}
	odd := tags.Match(1, 1)
	const given, kept = known - 2, known - 1
	for _, test := range []struct {
		name string
		give func(b *leaveBed, first, second *modelBox) workqueue.Job
		free bool // kept is given up, too
	}{
		{"that ends", func(_ *leaveBed, first, _ *modelBox) workqueue.Job {
			_, _, job := first.Unsubscribe(1)
			return job
		}, true},
		{"that changes", func(b *leaveBed, first, second *modelBox) workqueue.Job {
			return b.own(first, second, 1, tags.Of(kept)).Run
		}, false},
		{"that changes to a pattern", func(b *leaveBed, first, second *modelBox) workqueue.Job {
			return b.own(first, second, 1, odd).Run
		}, false},
	} {
		t.Run("of a subscription "+test.name, func(t *testing.T) {
			b := newLeaveBed(t, known, 256)
			first, second := b.connect(), b.connect()
			if err := runGroup(b.own(first, second, 1, all)); err != nil {
				t.Fatal(err)
			}
			refused := 0
			for job, done := test.give(b, first, second), false; !done; {
				if _, done = job(1000); done {
					break
				}
				for _, tag := range []tags.Tag{given, kept} {
					box := b.connect() // it is let in, or its connection ends
					switch err := runGroup(b.own(box, first, 1, tags.Of(tag))); {
					case err != nil:
						refused++
					case b.fan.tags.Get(tag).route.Load().has(first.Lanes[0]):
						t.Fatalf("tag %v has two owners", tag)
					}
					b.end([]*modelBox{box}, workqueue.SliceSteps, func() {})
				}
			}
			if refused == 0 {
				t.Error("no connection was refused: nothing was done in slices")
			}
			for tag, free := range map[tags.Tag]bool{given: true, kept: test.free} {
				if err := runGroup(b.own(b.connect(), first, 1, tags.Of(tag))); (err == nil) != free {
					t.Errorf("tag %v: got %v, want it free: %v", tag, err, free)
				}
			}
		})
	}
}
