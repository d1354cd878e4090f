// SPDX-License-Identifier: Apache-2.0

package directorytest

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"tagbus/bus/directory"
)

// crowdedRoom is how many entries a directory of RunCrowded follows.
const crowdedRoom = 5

// RunCrowded holds a kind of directory that follows a number of entries only to what is said when there
// are more: it is a problem of each that looks and of each that is announced, also if nothing
// is watched there, until it is over.
//
//   - storage: returns a function that opens the same directory each time, as another process
//     would, which follows room entries. RunCrowded closes it.
func RunCrowded(t *testing.T, storage func(t *testing.T, room int) (open func() directory.Opened)) {
	t.Helper()
	opened := storage(t, crowdedRoom)
	open := func() directory.Directory {
		d := opened()
		t.Cleanup(func() {
			if err := d.Close(); err != nil {
				t.Errorf("got %v from Close, want nil", err)
			}
		})
		return d
	}
	own := Announce(t, open(), Entry("own", 1))
	told := make(chan error, 16)
	own.(directory.Reporter).OnProblem(func(err error) { told <- err })
	others := open()
	var registrations []directory.Registration
	for i := range crowdedRoom - 1 {
		registrations = append(registrations, Announce(t, others, Entry(fmt.Sprint("other", i), 1)))
	}
	if _, err := open().List(); err != nil {
		t.Errorf("with as many as are followed: got %v, want no problem", err)
	}
	for range 2 {
		more := Announce(t, others, Entry("more", 1))
		wantTold(t, told, true)
		entries, err := open().List()
		if !errors.Is(err, directory.ErrCrowded) || len(entries) > crowdedRoom {
			t.Errorf("got %d entries, %v, want at most %d and ErrCrowded", len(entries), err, crowdedRoom)
		}
		if err := errors.Join(more.Withdraw(), registrations[0].Withdraw()); err != nil { // below nine tenths
			t.Fatal(err)
		}
		wantTold(t, told, false)
		registrations[0] = Announce(t, others, Entry("other0", 1))
	}
	if err := own.Withdraw(); err != nil {
		t.Errorf("got %v from Withdraw, want nil", err)
	}
}

// wantTold fails the test unless the next thing that is told is that there are too many entries, with
// what to do, or that it is over. Problems of servers that are late on a busy host come in between, and go.
func wantTold(t *testing.T, told <-chan error, crowded bool) {
	t.Helper()
	late := false
	for deadline := time.After(5 * time.Minute); ; { // a busy machine
		select {
		case err := <-told:
			switch {
			case crowded && errors.Is(err, directory.ErrCrowded):
				if !strings.Contains(err.Error(), "remove ") {
					t.Errorf("got report %v, want what to do", err)
				}
				return
			case !crowded && err == nil:
				return
			case err != nil && !errors.Is(err, directory.ErrCrowded):
				late = true // it hides what there is to tell
			case late:
				late = false // that is told again
			default:
				t.Fatalf("got report %v, want that there are too many: %t", err, crowded)
			}
		case <-deadline:
			t.Fatalf("got no report, want that there are too many: %t", crowded)
		}
	}
}
