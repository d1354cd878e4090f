// SPDX-License-Identifier: Apache-2.0

package discovery_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"tagbus/bus/directory"
	"tagbus/bus/internal/workqueue"
)

// Thousands of events are handled in slices, in their order, and other jobs have their
// turn in between.
func TestManyEventsAreHandledInSlices(t *testing.T) {
	b := newBed()
	if err := b.watch(); err != nil {
		t.Fatal(err)
	}
	const n = 1000
	name := string(make([]byte, workqueue.SliceSteps/100)) // a hundred events are a slice
	var want []string
	for i := range n {
		e := directory.Event{Kind: directory.Appeared, Entry: directory.Entry{
			Instance: fmt.Sprint(i), Name: fmt.Sprint(i, name), Role: directory.Receiver,
		}}
		b.dir.report(e)
		want = append(want, "new", "take "+e.Entry.Name)
	}
	if len(b.posts) != 1 {
		t.Errorf("got %d functions posted, want one for all events", len(b.posts))
	}
	b.work.Add(func(int) (int, bool) { return workqueue.SliceSteps, true }) // the loop is busy
	turns, others, most := 0, 0, 0
	for len(b.posts) > 0 {
		turns++
		before := len(b.Users)
		b.turn()
		most = max(most, len(b.Users)-before)
		if len(b.Users) < n {
			b.work.Add(func(int) (int, bool) { others++; return 1, true })
		}
	}
	if !slices.Equal(b.got, want) {
		t.Errorf("got %d calls, want all events in order", len(b.got)/2)
	}
	if turns < n/100 || most > 110 || others < n/110 {
		t.Errorf("got %d turns, up to %d events in one and %d other jobs, want about %d, 100 and %d", turns, most, others, n/100, n/100)
	}
	if b.work.Longest > workqueue.SliceSteps+workqueue.SliceSteps/50 {
		t.Errorf("got %d steps in a slice, want at most %d", b.work.Longest, workqueue.SliceSteps)
	}
}

// However often entries change while the loop is held up, at most a few events for each
// wait, which say the same in the end.
func TestTheQueueOfAFollowerIsBounded(t *testing.T) {
	b := newBed()
	if err := b.watch(); err != nil {
		t.Fatal(err)
	}
	const n, last = 10, 1000
	for i := range last + 1 {
		for x := range n {
			b.dir.report(directory.Event{Kind: directory.Changed, Entry: directory.Entry{
				Instance: fmt.Sprint(x), Name: fmt.Sprint(i), Role: directory.Receiver,
			}})
		}
	}
	for i := range 100_000 {
		b.dir.report(directory.Event{Kind: directory.Problem, Err: errors.New(fmt.Sprint("problem ", i))})
	}
	for len(b.posts) > 0 {
		b.turn()
	}
	if len(b.Users) != n || len(b.got) > 20_000 {
		t.Errorf("got %d users and %d calls, want %d and at most 20,000", len(b.Users), len(b.got), n)
	}
	takes := 0
	for _, call := range b.got {
		if call == fmt.Sprint("take ", last) {
			takes++
		}
	}
	if takes != n {
		t.Errorf("got the last state of %d entries, want of %d", takes, n)
	}
}
