// SPDX-License-Identifier: Apache-2.0

package discovery_test

import (
	"errors"
	"slices"
	"testing"

	"tagbus/bus/directory"
	"tagbus/bus/internal/discovery"
	"tagbus/bus/internal/workqueue"
)

// user notes what a follower tells it.
type user struct{ told *[]string }

func (u *user) Take(e directory.Event) (steps int) {
	*u.told = append(*u.told, "take "+e.Entry.Name)
	return len(e.Entry.Name)
}

func (u *user) Gone() (steps int) {
	*u.told = append(*u.told, "gone")
	return 1
}

// events is a directory that reports to its only watcher.
type events struct {
	directory.Directory
	report  func(directory.Event)
	stopped bool
	err     error
}

func (d *events) Watch(f func(directory.Event)) (stop func(), err error) {
	d.report = f
	return func() { d.stopped = true }, d.err
}

// bed follows a directory, and notes what becomes of it.
type bed struct {
	discovery.Follower[*user]
	dir   events
	got   []string
	posts []func()
	work  workqueue.Queue
	ended bool
}

func newBed() *bed {
	b := &bed{}
	b.work = workqueue.New(b.post)
	b.Follower = discovery.Follower[*user]{
		Role:  directory.Receiver,
		Users: make(map[string]*user),
		Create: func() *user {
			b.got = append(b.got, "new")
			return &user{&b.got}
		},
		Refuse: func(e directory.Entry) error {
			if e.Name == "large" {
				return errors.New("too large")
			}
			return nil
		},
		Problem: func(err error) { b.got = append(b.got, err.Error()) },
	}
	return b
}

func (b *bed) post(f func()) bool {
	b.posts = append(b.posts, f)
	return true
}

// turn runs what is posted.
func (b *bed) turn() {
	posts := b.posts
	b.posts = nil
	for _, f := range posts {
		f()
	}
}

func (b *bed) watch() error {
	return b.Watch(&b.dir, b.post, &b.work, func() bool { return b.ended })
}

func TestAFollowerKeepsAUserForEachEntryOfItsRole(t *testing.T) {
	event := func(kind directory.EventKind, name string) directory.Event {
		return directory.Event{Kind: kind, Entry: directory.Entry{Instance: "x", Name: name, Role: directory.Receiver}}
	}
	other := func(kind directory.EventKind) directory.Event {
		e := event(kind, "foreign")
		e.Entry.Role = directory.Publisher
		return e
	}
	foreign := other(directory.Appeared)
	bad := directory.Event{Kind: directory.Problem, Entry: foreign.Entry, Err: errors.New("bad")}
	const appeared, changed, gone = directory.Appeared, directory.Changed, directory.Gone
	for _, x := range []struct {
		name   string
		events []directory.Event
		want   []string
		users  int
	}{
		{"appears and changes", []directory.Event{event(appeared, "a"), event(changed, "b")}, []string{"new", "take a", "take b"}, 1},
		{"changes and was not there", []directory.Event{event(changed, "a")}, []string{"new", "take a"}, 1},
		{"goes, and its user stays", []directory.Event{event(appeared, "a"), event(gone, "a")}, []string{"new", "take a", "gone"}, 1},
		{"goes and comes again", []directory.Event{event(appeared, "a"), event(gone, "a"), event(appeared, "b")}, []string{"new", "take a", "gone", "take b"}, 1},
		{"goes and was not there", []directory.Event{event(gone, "a")}, nil, 0},
		{"another role", []directory.Event{foreign, {Kind: gone, Entry: foreign.Entry}}, nil, 0},
		{"changes its role", []directory.Event{event(appeared, "a"), other(changed)}, []string{"new", "take a", "gone"}, 1},
		{"changes its role, and changes back", []directory.Event{event(appeared, "a"), other(changed), event(changed, "b")}, []string{"new", "take a", "gone", "take b"}, 1},
		{"refused, changes its role, and changes back", []directory.Event{event(appeared, "large"), other(changed), event(changed, "large")}, []string{"too large", "too large"}, 0},
		{"a problem of another role", []directory.Event{bad}, []string{"bad"}, 0},
		{"refused, told once", []directory.Event{event(appeared, "large"), event(changed, "large")}, []string{"too large"}, 0},
		{"refused, told once, in spite of a problem with it", []directory.Event{event(appeared, "large"), bad, event(changed, "large")}, []string{"too large", "bad"}, 0},
		{"refused, gone, and there again", []directory.Event{event(appeared, "large"), event(gone, "large"), event(appeared, "large")}, []string{"too large", "too large"}, 0},
		{"refused, then not, then again", []directory.Event{event(appeared, "large"), event(changed, "a"), event(changed, "large")}, []string{"too large", "new", "take a", "too large"}, 1},
		{"refused, and its user is told when it goes", []directory.Event{event(appeared, "a"), event(changed, "large"), event(gone, "large")}, []string{"new", "take a", "too large", "gone"}, 1},
	} {
		t.Run(x.name, func(t *testing.T) {
			b := newBed()
			if err := b.watch(); err != nil {
				t.Fatal(err)
			}
			for _, e := range x.events {
				b.dir.report(e)
			}
			if len(b.got) > 0 {
				t.Errorf("off the loop: got %q, want nothing", b.got)
			}
			b.turn()
			if !slices.Equal(b.got, x.want) || len(b.Users) != x.users {
				t.Errorf("got %q and %d users, want %q and %d", b.got, len(b.Users), x.want, x.users)
			}
		})
	}
}

// A user that was deleted from outside is made again for the next event of its entry.
func TestAUserThatIsNotNeededIsMadeAnew(t *testing.T) {
	b := newBed()
	if err := b.watch(); err != nil {
		t.Fatal(err)
	}
	e := directory.Event{Kind: directory.Appeared, Entry: directory.Entry{Instance: "x", Name: "a", Role: directory.Receiver}}
	b.dir.report(e)
	b.turn()
	delete(b.Users, "x")
	e.Kind = directory.Changed
	b.dir.report(e)
	b.turn()
	if want := []string{"new", "take a", "new", "take a"}; !slices.Equal(b.got, want) {
		t.Errorf("got %q, want %q", b.got, want)
	}
}

func TestAFollowerEnds(t *testing.T) {
	b := newBed()
	b.End() // nothing was begun
	if err := b.watch(); err != nil {
		t.Fatal(err)
	}
	b.dir.report(directory.Event{Kind: directory.Appeared, Entry: directory.Entry{Instance: "x", Role: directory.Receiver}})
	b.ended = true
	b.turn()
	if b.End(); len(b.got) > 0 || !b.dir.stopped {
		t.Errorf("got %q, and that the directory is stopped: %t, want nothing and true", b.got, b.dir.stopped)
	}
	closed := newBed()
	closed.dir.err = directory.ErrClosed
	if err := closed.watch(); !errors.Is(err, directory.ErrClosed) {
		t.Errorf("Watch of a closed directory: got %v, want ErrClosed", err)
	}
}
