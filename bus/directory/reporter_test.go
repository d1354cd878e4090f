// SPDX-License-Identifier: Apache-2.0

package directory_test

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tagbus/bus/directory"
	"tagbus/bus/directory/memory"
	"tagbus/tags"
)

// storage is where the entries of a directory are, as far as a test breaks it.
type storage interface {
	fail(t *testing.T) // from now on, the entry of instance a cannot be renewed
	mend(t *testing.T)
}

type memoryStorage struct{ *memory.Directory }

func (m memoryStorage) fail(*testing.T) { m.Fail("a", errors.New("no disk")) }
func (m memoryStorage) mend(*testing.T) { m.Fail("a", nil) }

// fileStorage is the path of a folder.
type fileStorage string

// fail puts a file in the folder's place.
func (f fileStorage) fail(t *testing.T) {
	t.Helper()
	if err := errors.Join(os.RemoveAll(string(f)+".away"), os.Rename(string(f), string(f)+".away"), os.WriteFile(string(f), nil, 0o600)); err != nil {
		// A beat may have made the folder again meanwhile.
		if err := errors.Join(os.RemoveAll(string(f)), os.WriteFile(string(f), nil, 0o600)); err != nil {
			t.Fatal(err)
		}
	}
}

func (f fileStorage) mend(t *testing.T) {
	t.Helper()
	if err := os.Remove(string(f)); err != nil {
		t.Fatal(err)
	}
}

// reports receives what a Reporter tells.
type reports struct {
	t    *testing.T
	told chan error
}

func reportsOf(t *testing.T, r directory.Registration) *reports {
	t.Helper()
	reporter, ok := r.(directory.Reporter)
	if !ok {
		t.Fatalf("got a %T, want a Reporter", r)
	}
	x := &reports{t, make(chan error, 1000)}
	reporter.OnProblem(func(err error) { x.told <- err })
	return x
}

// want fails the test unless the next report begins a problem, or ends it.
func (x *reports) want(begins bool) {
	x.t.Helper()
	select {
	case err := <-x.told:
		if (err != nil) != begins {
			x.t.Fatalf("got report %v, want one that begins a problem: %t", err, begins)
		}
	case <-time.After(patience):
		x.t.Fatalf("got no report, want one that begins a problem: %t", begins)
	}
}

// TestReporter_tellsWhatKeepsARegistrationFromBeingRenewed: once when it begins and once
// when it is over, again and again; then the entry is there as it was last updated.
func TestReporter_tellsWhatKeepsARegistrationFromBeingRenewed(t *testing.T) {
	for _, backend := range backends {
		t.Run(backend.name, func(t *testing.T) {
			d, storage := backend.open(t)
			t.Cleanup(func() { d.Close() })
			a := announce(t, d, entry("a", 1))
			x := reportsOf(t, a)
			for round := range tags.Tag(3) {
				storage.fail(t)
				x.want(true)
				late := reportsOf(t, a) // it asks when it has begun
				late.want(true)
				reportsOf(t, a)
				x = reportsOf(t, a)
				x.want(true)
				_ = a.Update(entry("a", round)) // fails or not: it is to be shown in the end
				storage.mend(t)
				x.want(false)
				if entries, err := d.List(); err != nil || len(entries) != 1 || !entries[0].Equal(entry("a", round)) {
					t.Errorf("got list %v, %v, want the updated entry", entries, err)
				}
			}
			storage.fail(t)
			x.want(true)
			_ = a.Withdraw() // a file in the folder's place makes it fail
			storage.mend(t)
			if err := d.Close(); err != nil {
				t.Errorf("got %v from Close, want nil", err)
			}
			if n := len(x.told); n > 0 {
				t.Errorf("got %d more reports, want none after Withdraw", n)
			}
		})
	}
}

// An entry among too many, whose disk was full then, was told as the first alone.
func TestReports_Tell_aProblemOfAnotherKind(t *testing.T) {
	var r directory.Reports
	var got []string
	crowded, full := fmt.Errorf("crowded: %w", directory.ErrCrowded), errors.New("full")
	r.OnProblem(func(err error) { got = append(got, fmt.Sprint(err)) })
	for _, err := range []error{crowded, crowded, full, full, crowded, nil} {
		r.Tell(err)
	}
	if want := []string{crowded.Error(), "<nil>", "full", "<nil>", crowded.Error(), "<nil>"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestReports_Tell_onlyWhatBeginsAndEnds(t *testing.T) {
	var r directory.Reports
	var got []string
	first, second := errors.New("first"), errors.New("second")
	r.Tell(nil)
	r.OnProblem(func(err error) { got = append(got, errors.Join(err, errors.New(".")).Error()) })
	for _, err := range []error{nil, first, first, second, nil, nil, second, nil} {
		r.Tell(err)
	}
	r.Tell(first)
	r.End()
	r.Tell(nil)
	r.Tell(second)
	if diff := cmp.Diff([]string{"first\n.", ".", "second\n.", ".", "first\n."}, got); diff != "" {
		t.Errorf("got other reports than wanted (-want +got):\n%s", diff)
	}
}
