// SPDX-License-Identifier: Apache-2.0

package directory_test

import (
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"tagbus/bus/directory"
	"tagbus/bus/directory/directorytest"
	"tagbus/bus/directory/memory"
)

var errStorage = errors.New("server unavailable")

// failing is a Directory whose calls fail, or whose stop does not return, as long as the test
// wants.
type failing struct {
	directory.Directory
	fails, hangs atomic.Bool
}

func (d *failing) err() error {
	if d.fails.Load() {
		return errStorage
	}
	return nil
}

func (d *failing) Announce(e directory.Entry) (directory.Registration, error) {
	if err := d.err(); err != nil {
		return nil, err
	}
	r, err := d.Directory.Announce(e)
	return &failingEntry{r, d}, err
}

func (d *failing) Watch(notify func(directory.Event)) (func(), error) {
	if err := d.err(); err != nil {
		return nil, err
	}
	stop, err := d.Directory.Watch(notify)
	return func() {
		for d.hangs.Load() {
			time.Sleep(time.Second)
		}
		stop()
	}, err
}

type failingEntry struct {
	directory.Registration
	dir *failing
}

func (r *failingEntry) Update(e directory.Entry) error {
	if err := r.dir.err(); err != nil {
		return err
	}
	return r.Registration.Update(e)
}

// newFailing returns a directory that fails, what hangs in front of it, and what is patient
// with both.
func newFailing(t *testing.T) (*failing, *directorytest.Silent, directory.Directory) {
	t.Helper()
	d := memory.New()
	t.Cleanup(func() { _ = d.Close() })
	f := &failing{Directory: d}
	s := directorytest.NewSilent(f)
	return f, s, directory.Patient(s)
}

// wantEntries fails the test unless there are so many entries.
func wantEntries(t *testing.T, d directory.Directory, want int) {
	t.Helper()
	if entries, err := d.List(); err != nil || len(entries) != want {
		t.Errorf("got %v, %v, want %d entries", entries, err, want)
	}
}

// An entry that is withdrawn while an Update hangs is withdrawn, also if the Update fails in
// the end. Else it would be renewed for ever.
func TestPatient_aWithdrawalBehindAnUpdateThatFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, s, p := newFailing(t)
		r, err := p.Announce(directorytest.Entry("a", 1))
		if err != nil {
			t.Fatal(err)
		}
		s.Goes()
		f.fails.Store(true)
		for _, err := range []error{r.Update(directorytest.Entry("a", 2)), r.Withdraw()} {
			if !errors.Is(err, directory.ErrSilent) {
				t.Errorf("got %v, want ErrSilent", err)
			}
		}
		s.Comes()
		time.Sleep(time.Minute)
		wantEntries(t, f, 0)
	})
}

// An Announce that was given up, and fails then, is tried again until it succeeds, or the
// entry is withdrawn. What it wants is what the last Update said.
func TestPatient_anAnnounceThatFailsLateIsTriedAgain(t *testing.T) {
	for name, withdraws := range map[string]bool{"until it succeeds": false, "until it is withdrawn": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f, s, p := newFailing(t)
				s.Goes()
				f.fails.Store(true)
				r, err := p.Announce(directorytest.Entry("a", 1))
				if err != nil {
					t.Fatal(err)
				}
				var told []error
				r.(directory.Reporter).OnProblem(func(err error) { told = append(told, err) })
				s.Comes()
				time.Sleep(time.Minute) // it is tried again just now: both have its error
				if err := r.Update(directorytest.Entry("a", 2)); !errors.Is(err, errStorage) {
					t.Errorf("got %v from Update, want what the storage says", err)
				}
				want := 1
				if withdraws {
					want = 0
					if err := r.Withdraw(); err != nil {
						t.Errorf("got %v from Withdraw, want nil", err)
					}
				}
				f.fails.Store(false)
				time.Sleep(time.Minute)
				synctest.Wait()
				wantEntries(t, f, want)
				if entries, _ := f.List(); want == 1 && !entries[0].Equal(directorytest.Entry("a", 2)) {
					t.Errorf("got %v, want what Update said", entries)
				}
				if len(told) != 1+want || !errors.Is(told[0], directory.ErrSilent) || told[want] != nil && want == 1 {
					t.Errorf("got reports %v, want ErrSilent, and its end if it succeeds", told)
				}
			})
		})
	}
}

// A Watch that was given up, and fails then, is tried again until stop. Its problem is told
// once.
func TestPatient_aWatchThatFailsLateIsTriedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, s, p := newFailing(t)
		if _, err := f.Announce(directorytest.Entry("a", 1)); err != nil {
			t.Fatal(err)
		}
		s.Goes()
		f.fails.Store(true)
		var got [3][]directory.Event
		var stops [3]func()
		for i := range got {
			var err error
			if stops[i], err = p.Watch(func(e directory.Event) { got[i] = append(got[i], e) }); err != nil {
				t.Fatal(err)
			}
		}
		stops[1]()
		s.Comes()
		time.Sleep(time.Minute)
		stops[2]()
		f.fails.Store(false)
		time.Sleep(time.Minute)
		synctest.Wait()
		if e := got[0]; len(e) != 3 || !errors.Is(e[0].Err, directory.ErrSilent) || !errors.Is(e[1].Err, errStorage) || e[2].Kind != directory.Appeared {
			t.Errorf("got %v, want two problems and the entry", e)
		}
		if len(got[1]) != 1 || len(got[2]) != 2 {
			t.Errorf("got %v and %v, want nothing after stop", got[1], got[2])
		}
		stops[0]()
	})
}

// A stop that does not return is not waited for longer than Patience, and not at all by what
// runs within notify.
func TestPatient_aStopThatDoesNotReturn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, _, p := newFailing(t)
		f.hangs.Store(true)
		stop, err := p.Watch(func(directory.Event) { t.Error("got an event after stop, want none") })
		if err != nil {
			t.Fatal(err)
		}
		begun := time.Now()
		if stop(); time.Since(begun) != directory.Patience {
			t.Errorf("took %v, want %v", time.Since(begun), directory.Patience)
		}
		stops, took := make(chan func(), 1), time.Duration(-1)
		stop, err = p.Watch(func(directory.Event) {
			begun := time.Now()
			(<-stops)()
			took = time.Since(begun)
		})
		if err != nil {
			t.Fatal(err)
		}
		stops <- stop
		if _, err := f.Announce(directorytest.Entry("a", 1)); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if took != 0 {
			t.Errorf("took %v within notify, want that it returns at once", took)
		}
		f.hangs.Store(false)
		time.Sleep(time.Minute)
	})
}
