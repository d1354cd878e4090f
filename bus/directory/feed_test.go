// SPDX-License-Identifier: Apache-2.0

package directory_test

import (
	"errors"
	"fmt"
	"runtime"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"pgregory.net/rapid"

	"tagbus/bus/directory"
	"tagbus/tags"
)

func TestFeed_Report_eachProblemOnce(t *testing.T) {
	var f directory.Feed
	defer f.Close()
	r := newRecorder(t)
	stop, err := f.Watch(r.Notify)
	if err != nil {
		t.Fatal(err)
	}
	defer stop()
	f.Put(entry("a", 1))
	r.Want(directory.Appeared, "a")
	first, second := errors.New("first"), errors.New("second")
	f.Report("a", first)
	f.Report("a", errors.New("first"))
	f.Report("disk:", second)
	f.Report("a", second)
	f.Report("a", nil)
	f.Report("a", nil)
	f.Report("a", second)
	for _, want := range []struct {
		instance string
		err      error
	}{{"a", first}, {"", second}, {"a", second}, {"a", second}} {
		if e := r.Want(directory.Problem, want.instance); !errors.Is(e.Err, want.err) {
			t.Errorf("got problem %v, want %v", e.Err, want.err)
		}
	}
	r.WantNone()

	late := newRecorder(t)
	stopLate, err := f.Watch(late.Notify)
	if err != nil {
		t.Fatal(err)
	}
	defer stopLate()
	late.Want(directory.Appeared, "a")
	late.Want(directory.Problem, "a")
	late.Want(directory.Problem, "")
	if entries, err := f.List(); len(entries) != 1 || !errors.Is(err, second) {
		t.Errorf("got list %v, %v, want one entry and the problem", entries, err)
	}
}

func TestFeed_Close_twoNotifyFunctionsMay(t *testing.T) {
	var f directory.Feed
	f.Put(entry("a", 1))
	both, done := make(chan struct{}, 2), make(chan struct{}, 2)
	for range 2 {
		if _, err := f.Watch(func(directory.Event) {
			both <- struct{}{}
			for len(both) < 2 { // until both are inside
				select {
				case <-t.Context().Done():
					return
				default:
				}
			}
			f.Close()
			done <- struct{}{}
		}); err != nil {
			t.Fatal(err)
		}
	}
	for range 2 {
		closed := make(chan struct{})
		go func() { <-done; close(closed) }()
		within(t, closed, "Close")
	}
	f.Close()
}

// TestFeed_merges holds a watcher back while a random history goes by, and
// checks that what it is then told is consistent and ends in the same state.
func TestFeed_merges(t *testing.T) {
	const instances, backlog = 5, 5000
	rapid.Check(t, func(rt *rapid.T) {
		steps := rapid.SliceOfN(rapid.IntRange(0, instances*8-1), 100, backlog).Draw(rt, "steps")
		var f directory.Feed
		hold := make(chan struct{})
		events := make(chan directory.Event, len(steps)+2)
		f.Put(entry("first", 0))
		stop, err := f.Watch(func(e directory.Event) { <-hold; events <- e })
		if err != nil {
			rt.Fatal(err)
		}
		for i, step := range steps {
			instance := fmt.Sprintf("i%d", step%instances)
			switch step / instances {
			case 0, 1:
				f.Remove(instance, directory.ErrExpired)
			case 2:
				f.Report(instance, fmt.Errorf("problem %d", i))
			default:
				f.Put(entry(instance, tags.Tag(i)))
			}
		}
		f.Put(entry("last", 0))
		close(hold)
		told := map[string]directory.Entry{}
		count := 0
		for told["last"].Instance == "" {
			e := <-events
			count++
			old, known := told[e.Entry.Instance]
			switch e.Kind {
			case directory.Appeared, directory.Changed:
				if known != (e.Kind == directory.Changed) || old.Equal(e.Entry) {
					rt.Fatalf("got %v while known is %t, want a consistent history", e, known)
				}
				told[e.Entry.Instance] = e.Entry
			case directory.Gone:
				if !known {
					rt.Fatalf("got %v of an unknown instance", e)
				}
				delete(told, e.Entry.Instance)
			case directory.Problem:
			}
		}
		stop()
		if count > 1100+2*instances {
			rt.Errorf("got %d events after a backlog of %d, want merged ones", count, len(steps))
		}
		entries, _ := f.List()
		if len(entries) != len(told) {
			rt.Fatalf("got %d entries told, want %d", len(told), len(entries))
		}
		for _, e := range entries {
			if !told[e.Instance].Equal(e) {
				rt.Errorf("got %+v told, want %+v", told[e.Instance], e)
			}
		}
		f.Close()
	})
}

// A watcher that is told nothing takes no goroutine.
func TestFeed_Watch_thatWaitsHasNoGoroutine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const watchers = 100
		var f directory.Feed
		var told atomic.Int32
		before := runtime.NumGoroutine()
		for range watchers {
			stop, err := f.Watch(func(directory.Event) { told.Add(1) })
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(stop)
		}
		for round := range int32(3) {
			f.Put(entry("a", tags.Tag(round+1)))
			synctest.Wait()
			if got, n := told.Load(), runtime.NumGoroutine()-before; got != (round+1)*watchers || n >= watchers/2 {
				t.Errorf("after %d events: got %d calls and %d goroutines more, want %d and none", round+1, got, n, (round+1)*watchers)
			}
		}
	})
}

func TestFeed_Sizes_countEntriesAndProblems(t *testing.T) {
	var f directory.Feed
	f.Put(entry("a", 1))
	f.Put(entry("b", 1))
	f.Remove("a", nil)
	f.Report("somewhere", errors.New("full"))
	f.Report("elsewhere", errors.New("full"))
	f.Report("here", errors.New("full"))
	f.Report("elsewhere", nil)
	if entries, problems := f.Sizes(); entries != 1 || problems != 2 {
		t.Errorf("got %d entries and %d problems, want 1 and 2", entries, problems)
	}
}
