// SPDX-License-Identifier: Apache-2.0

package listing_test

import (
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"tagbus/bus/directory"
	"tagbus/bus/directory/directorytest"
	"tagbus/bus/internal/listing"
)

// shelf is a directory of clients that notes what it is asked, and when.
type shelf struct {
	directory.Directory
	began time.Time

	mu     sync.Mutex
	asked  []string // what, and at which second
	refuse error
	hang   chan struct{} // not nil: Announce waits until it is closed
}

func newShelf() *shelf { return &shelf{began: time.Now()} }

// Clients implements directory.WithClients.
func (s *shelf) Clients() directory.Directory { return s }

func (s *shelf) note(what string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked = append(s.asked, what+" "+time.Since(s.began).String())
}

func (s *shelf) refuses(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.refuse = err
}

// notes returns what it was asked.
func (s *shelf) notes() []string {
	synctest.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.asked)
}

// Announce implements directory.Directory.
func (s *shelf) Announce(e directory.Entry) (directory.Registration, error) {
	s.note("announce " + e.Name)
	s.mu.Lock()
	hang, refuse := s.hang, s.refuse
	s.mu.Unlock()
	if hang != nil {
		<-hang
	}
	if refuse != nil {
		return nil, refuse
	}
	return place{s}, nil
}

type place struct{ *shelf }

// Update implements directory.Registration.
func (p place) Update(e directory.Entry) error {
	p.note("update " + e.Name)
	return nil
}

// Withdraw implements directory.Registration.
func (p place) Withdraw() error {
	p.note("withdraw")
	return nil
}

// client is what is listed.
type client struct {
	mu      sync.Mutex
	name    string
	changed func()
	stopped bool

	announced int // how often it was told
}

func (c *client) describe() (directory.Entry, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e := directorytest.Client("a", 1)
	e.Name = c.name
	return e, c.name != ""
}

func (c *client) rename(name string) {
	c.mu.Lock()
	c.name = name
	c.mu.Unlock()
	c.changed()
}

func start(s directory.Directory) (*client, *listing.Listing) {
	c := &client{name: "first"}
	l := listing.Start(s, c.describe, func(directory.Registration) { c.announced++ }, func(changed func()) func() {
		c.changed = changed
		return func() { c.stopped = true }
	})
	return c, l
}

func TestWhenADirectoryIsAsked(t *testing.T) {
	refused := errors.New("read-only")
	tests := []struct {
		name string
		life func(s *shelf, c *client)
		want []string
	}{
		{"a program that looks for a moment", func(*shelf, *client) { time.Sleep(200 * time.Millisecond) }, nil},
		{"one that stays", func(*shelf, *client) { time.Sleep(time.Hour) }, []string{"announce first 250ms", "withdraw 1h0m0s"}},
		{"changes, each 10 s at most", func(_ *shelf, c *client) {
			time.Sleep(time.Second)
			for range 20 {
				c.rename("second")
				time.Sleep(100 * time.Millisecond)
				c.rename("third")
				time.Sleep(900 * time.Millisecond)
			}
		}, []string{"announce first 250ms", "update third 10.25s", "withdraw 21s"}},
		{"a change of which nothing shows", func(_ *shelf, c *client) {
			time.Sleep(time.Second)
			c.rename("first")
			time.Sleep(time.Minute)
		}, []string{"announce first 250ms", "withdraw 1m1s"}},
		{"a directory that refuses, and then does not", func(s *shelf, _ *client) {
			s.refuses(refused)
			time.Sleep(90 * time.Second)
			s.refuses(nil)
			time.Sleep(time.Hour)
		}, []string{"announce first 250ms", "announce first 1m0.25s", "announce first 2m0.25s", "withdraw 1h1m30s"}},
		{"a client that has ended, and is not to be described", func(_ *shelf, c *client) {
			c.rename("")
			time.Sleep(time.Minute)
		}, nil},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newShelf()
				c, l := start(s)
				test.life(s, c)
				l.End()()
				if got := s.notes(); !slices.Equal(got, test.want) || !c.stopped {
					t.Errorf("got %q, followed no more: %v; want %q", got, c.stopped, test.want)
				}
				if told := c.announced; told != min(1, len(test.want)) {
					t.Errorf("got %d times told that it is announced", told)
				}
				time.Sleep(time.Hour)
				if got := s.notes(); !slices.Equal(got, test.want) {
					t.Errorf("an hour after the end: got %q, want %q", got, test.want)
				}
			})
		})
	}
}

// TestAStorageThatDoesNotAnswer holds up neither the changes nor the end, and the entry goes
// when it has answered.
func TestAStorageThatDoesNotAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShelf()
		s.hang = make(chan struct{}) // before the first look
		c, l := start(s)
		time.Sleep(time.Second)
		c.rename("second")
		l.Changed()
		began := time.Now()
		wait := l.End()
		l.End()() // again
		wait()
		if took := time.Since(began); took > time.Second {
			t.Errorf("the end took %v, want a moment", took)
		}
		time.Sleep(time.Hour)
		if want := []string{"announce first 250ms"}; !slices.Equal(s.notes(), want) {
			t.Errorf("got %q, want %q", s.notes(), want)
		}
		close(s.hang)
		if got := s.notes(); len(got) != 2 || got[1] != "withdraw 1h0m1.5s" {
			t.Errorf("got %q, want that it is withdrawn once the storage answers", got)
		}
	})
}

func TestADirectoryWithoutClients(t *testing.T) {
	_, l := start(struct{ directory.Directory }{})
	if l != nil {
		t.Error("got a listing, want none")
	}
	l.Changed()
	l.End()()
}
