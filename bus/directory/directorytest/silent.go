// SPDX-License-Identifier: Apache-2.0

package directorytest

import (
	"slices"
	"sync"
	"testing"
	"time"

	"tagbus/bus/directory"
)

// Silent is a Directory in front of another one: no call of it returns while its storage is
// away.
//
// Threads: any.
type Silent struct {
	inner directory.Directory

	mu   sync.Mutex
	back chan struct{} // closed when the storage is there again; nil: it is
}

var _ directory.Opened = (*Silent)(nil)

// NewSilent returns one whose storage is there.
func NewSilent(inner directory.Directory) *Silent { return &Silent{inner: inner} }

// Goes makes the storage go away.
func (s *Silent) Goes() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.back = make(chan struct{})
}

// Comes makes the storage come back.
func (s *Silent) Comes() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.back != nil {
		close(s.back)
		s.back = nil
	}
}

// wait returns when the storage is there.
func (s *Silent) wait() {
	s.mu.Lock()
	back := s.back
	s.mu.Unlock()
	if back != nil {
		<-back
	}
}

// Announce implements directory.Directory.
func (s *Silent) Announce(e directory.Entry) (directory.Registration, error) {
	s.wait()
	r, err := s.inner.Announce(e)
	if err != nil {
		return nil, err
	}
	return &silentRegistration{s, r}, nil
}

// Watch implements directory.Directory.
func (s *Silent) Watch(notify func(directory.Event)) (stop func(), err error) {
	s.wait()
	return s.inner.Watch(notify)
}

// List implements directory.Directory.
func (s *Silent) List() ([]directory.Entry, error) {
	s.wait()
	return s.inner.List()
}

// Close implements directory.Opened.
func (s *Silent) Close() error {
	s.wait()
	if d, ok := s.inner.(directory.Opened); ok {
		return d.Close()
	}
	return nil
}

// silentRegistration is a Registration of a Silent.
type silentRegistration struct {
	silent *Silent
	inner  directory.Registration
}

// Update implements directory.Registration.
func (r *silentRegistration) Update(e directory.Entry) error {
	r.silent.wait()
	return r.inner.Update(e)
}

// Withdraw implements directory.Registration.
func (r *silentRegistration) Withdraw() error {
	r.silent.wait()
	return r.inner.Withdraw()
}

// living are the instances that a Watch has told of, and that have not gone.
//
// Threads: any.
type living struct {
	mu  sync.Mutex
	all []string
}

// see is what Watch notifies.
func (l *living) see(e directory.Event) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch e.Kind {
	case directory.Appeared:
		l.all = append(l.all, e.Entry.Instance)
	case directory.Gone:
		l.all = slices.DeleteFunc(l.all, func(i string) bool { return i == e.Entry.Instance })
	default: // no matter
	}
}

// instances returns them, in the order in which they came.
func (l *living) instances() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.all)
}

// RunSilent holds a Directory to the contract while its storage does not answer: every method
// returns, and what was asked for is done when the storage is back. It has to be called in a
// bubble of testing/synctest.
//
//   - bound: how long a method may take.
//   - d: open and empty.
//   - s: what is between d and its storage; the storage is there.
func RunSilent(t *testing.T, bound time.Duration, d directory.Directory, s interface {
	Goes()
	Comes()
},
) {
	t.Helper()
	ends := func(what string, f func() error) {
		t.Helper()
		start := time.Now()
		_ = f() // what is said of it is tested elsewhere
		if took := time.Since(start); took > bound {
			t.Errorf("%s took %v while the storage is away, want at most %v", what, took, bound)
		}
	}
	var alive living
	s.Goes()
	ends("Watch", func() error {
		_, err := d.Watch(alive.see)
		if err != nil {
			t.Errorf("got %v from Watch, want nil", err)
		}
		return err
	})
	registrations := make(map[string]directory.Registration)
	for _, instance := range []string{"a", "b"} {
		ends("Announce", func() (err error) {
			if registrations[instance], err = d.Announce(Entry(instance, 1)); err != nil {
				t.Fatalf("got %v from Announce, want nil, and an entry when the storage is back", err)
			}
			return err
		})
	}
	ends("List", func() error { _, err := d.List(); return err })
	ends("Update", func() error { return registrations["a"].Update(Entry("a", 2)) })
	ends("Withdraw", registrations["b"].Withdraw)
	<-time.After(time.Minute)
	s.Comes()
	<-time.After(time.Minute)
	entries, err := d.List()
	if err != nil || len(entries) != 1 || !entries[0].Equal(Entry("a", 2)) {
		t.Errorf("got %v and %v when the storage is back, want the entry a of the Update only", entries, err)
	}
	if got := alive.instances(); !slices.Equal(got, []string{"a"}) {
		t.Errorf("got the living %v from Watch when the storage is back, want a", got)
	}
	s.Goes()
	ends("Update", func() error { return registrations["a"].Update(Entry("a", 3)) })
	ends("Withdraw", registrations["a"].Withdraw)
	s.Comes()
	<-time.After(time.Minute)
	if entries, err := d.List(); err != nil || len(entries) != 0 {
		t.Errorf("got %v and %v after Withdraw, want no entry", entries, err)
	}
}
