// SPDX-License-Identifier: Apache-2.0

//go:build linux

package file_test

import (
	"errors"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"tagbus/bus/directory"
	"tagbus/bus/directory/file"
)

// server is that of a file system. While it is away no call returns.
type server struct {
	mu     sync.Mutex
	only   string        // the only step that does not return; "": all
	back   chan struct{} // closed when it is there again; nil: it is there
	inside int           // calls that do not return
	most   int           // of them at a time
	seen   []string      // steps
}

func (s *server) pause(step string) {
	s.mu.Lock()
	if !slices.Contains(s.seen, step) {
		s.seen = append(s.seen, step)
	}
	back := s.back
	if back == nil || s.only != "" && s.only != step {
		s.mu.Unlock()
		return
	}
	s.inside++
	s.most = max(s.most, s.inside)
	s.mu.Unlock()
	<-back
	s.mu.Lock()
	s.inside--
	s.mu.Unlock()
}

// goes makes the server go away, for a step or all.
func (s *server) goes(only string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.back, s.only = make(chan struct{}), only
}

// comes makes the server come back.
func (s *server) comes() {
	s.mu.Lock()
	defer s.mu.Unlock()
	close(s.back)
	s.back = nil
}

// took returns how long f takes.
func took(f func()) time.Duration {
	start := time.Now()
	f()
	return time.Since(start)
}

// TestDirectory_everyCallEndsWhileTheFileSystemIsAway: whatever call into the file system does not
// return, every method does, and the directory goes on when the file system is back.
func TestDirectory_everyCallEndsWhileTheFileSystemIsAway(t *testing.T) {
	steps := []string{""}
	synctest.Test(t, func(t *testing.T) { // which steps are there?
		s := &server{}
		live(t, s, func(string) {}, "")
		steps = append(steps, s.seen...)
	})
	if len(steps) < 12 {
		t.Fatalf("got the steps %v, want all that the directory makes", steps)
	}
	for _, step := range steps {
		t.Run("away in "+step, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &server{}
				live(t, s, s.goes, step)
				if s.most > 2 {
					t.Errorf("got %d calls at a time that do not return, want at most 2: each keeps a thread", s.most)
				}
			})
		})
	}
}

// live opens a directory while a step does not return, uses all its methods, and then again
// when the file system is back.
func live(t *testing.T, s *server, goes func(step string), step string) {
	t.Helper()
	away := func() bool { return s.back != nil }
	ends := func(what string, f func() error) {
		t.Helper()
		var err error
		if d := took(func() { err = f() }); d > file.Patience {
			t.Errorf("%s took %v, want at most %v", what, d, file.Patience)
		}
		if err != nil && (!away() || !errors.Is(err, file.ErrHangs)) {
			t.Errorf("got %v from %s, want nil, or ErrHangs while the file system is away", err, what)
		}
	}
	folder := filepath.Join(t.TempDir(), "bus")
	config := polled.WithPauses(s.pause)
	goes(step)
	var d *file.Directory
	ends("Open", func() (err error) { d, err = file.Open(folder, config); return err })
	events := &recorder{}
	ends("Watch", func() error { _, err := d.Watch(events.add); return err })
	var r, gone directory.Registration
	ends("Announce", func() (err error) { r, err = d.Announce(entry("a", 1)); return err })
	ends("Announce", func() (err error) { gone, err = d.Announce(entry("b", 1)); return err })
	for range 100 {
		ends("List", func() error { _, err := d.List(); return err })
	}
	ends("Update", func() error { return r.Update(entry("a", 2)) })
	ends("Withdraw", gone.Withdraw)
	time.Sleep(time.Minute)
	if away() {
		s.comes()
	}
	time.Sleep(10 * time.Second)
	entries, err := d.List()
	if err != nil || len(entries) != 1 || !entries[0].Equal(entry("a", 2)) {
		t.Errorf("got entries %v and %v when the file system is back, want that of the Update and no problem", entries, err)
	}
	if got := events.alive(); !slices.Equal(got, []string{"a"}) {
		t.Errorf("got the living %v from Watch, want a", got)
	}
	goes(step)
	ends("Update", func() error { return r.Update(entry("a", 3)) })
	ends("Close", d.Close)
	ends("the second Close", d.Close)
	if away() {
		s.comes()
	}
	synctest.Wait()
	if files, err := filepath.Glob(filepath.Join(folder, "*")); err != nil || len(files) != 0 {
		t.Errorf("got files %v, %v when the file system is back, want none: all is withdrawn", files, err)
	}
}

// recorder notes events.
type recorder struct {
	mu     sync.Mutex
	events []directory.Event
}

func (r *recorder) add(e directory.Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.events = append(r.events, e)
}

// alive returns the instances that have appeared and not gone.
func (r *recorder) alive() (instances []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, e := range r.events {
		switch e.Kind {
		case directory.Appeared:
			instances = append(instances, e.Entry.Instance)
		case directory.Gone:
			instances = slices.DeleteFunc(instances, func(i string) bool { return i == e.Entry.Instance })
		default: // no matter
		}
	}
	return instances
}

// problems returns those that were told.
func (r *recorder) problems() (errs []error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, e := range r.events {
		if e.Kind == directory.Problem {
			errs = append(errs, e.Err)
		}
	}
	return errs
}

// TestDirectory_Watch_isToldThatTheFileSystemIsAway: once when it begins, and the entries stay.
func TestDirectory_Watch_isToldThatTheFileSystemIsAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &server{}
		d := open(t, t.TempDir(), polled.WithPauses(s.pause))
		announce(t, d, entry("a", 1))
		events := &recorder{}
		if _, err := d.Watch(events.add); err != nil {
			t.Fatal(err)
		}
		s.goes("")
		time.Sleep(time.Minute)
		var looks int
		for _, err := range events.problems() {
			if !errors.Is(err, file.ErrHangs) {
				t.Errorf("got problem %v, want ErrHangs only", err)
			}
			looks++
		}
		if looks != 2 {
			t.Errorf("got problems %v, want one of looking and one of the entry that cannot be renewed", events.problems())
		}
		entries, err := d.List()
		if len(entries) != 1 || !errors.Is(err, file.ErrHangs) {
			t.Errorf("got %v and %v, want the entry of before, and ErrHangs", entries, err)
		}
		if d.Stats().Up {
			t.Error("got Up from Stats, want false while the file system is away")
		}
		if got := events.alive(); len(got) != 1 {
			t.Errorf("got the living %v, want a: nothing shows that it has ended", got)
		}
		s.comes()
		time.Sleep(5 * time.Second)
		if entries, err := d.List(); len(entries) != 1 || err != nil {
			t.Errorf("got %v and %v, want the entry and no problem", entries, err)
		}
	})
}

// TestDirectory_waitsForASlowFileSystem: one that answers each call is not away, however long it all
// takes.
func TestDirectory_waitsForASlowFileSystem(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		config := polled.WithPauses(func(string) { time.Sleep(time.Second) })
		d := open(t, t.TempDir(), config)
		var r directory.Registration
		if took := took(func() { r = announce(t, d, entry("a", 1)) }); took <= file.Patience {
			t.Errorf("Announce took %v, want more than %v", took, file.Patience)
		}
		if entries, err := d.List(); err != nil || len(entries) != 1 {
			t.Errorf("got %v and %v, want the entry and no problem", entries, err)
		}
		if err := r.Withdraw(); err != nil {
			t.Errorf("got %v from Withdraw, want nil", err)
		}
		if err := d.Close(); err != nil {
			t.Errorf("got %v from Close, want nil", err)
		}
	})
}
