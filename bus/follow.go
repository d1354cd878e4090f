package bus

import (
	"tagbus/bus/directory"
	"tagbus/netio"
)

// followed is what a follower keeps for an entry of the directory: a source or an
// outlet.
type followed interface {
	contactUser
	way() *contact
	take(e directory.Event) // the entry has appeared or changed
	gone()                  // the entry is gone
}

// follower follows the entries of one role in a directory. Loop only, except watch and
// end.
type follower[U followed] struct {
	role      directory.Role
	users     map[string]U // by the instance of the entry
	create    func() U
	event     func(Event)
	oversized oversized
	stop      func()
}

// watch begins to follow a directory, until end.
//
//   - ended: reports whether to ignore further events.
//   - Blocks: for the directory's storage.
func (f *follower[U]) watch(dir directory.Directory, loop netio.Loop, ended func() bool) (err error) {
	f.stop, err = dir.Watch(func(e directory.Event) {
		loop.Post(func() {
			if !ended() {
				f.follow(e)
			}
		})
	})
	return err
}

// end stops following, if watch has begun it.
func (f *follower[U]) end() {
	if f.stop != nil {
		f.stop()
	}
}

// follow takes an event of the directory.
func (f *follower[U]) follow(e directory.Event) {
	if e.Kind != directory.Problem && e.Entry.Role != f.role {
		return
	}
	if f.oversized.refuses(e, f.problem) {
		return
	}
	u, known := f.users[e.Entry.Instance]
	switch e.Kind {
	case directory.Appeared, directory.Changed:
		if !known {
			u = f.create()
			f.users[e.Entry.Instance] = u
		}
		u.take(e)
	case directory.Gone:
		if known {
			u.gone()
		}
	case directory.Problem:
		f.problem(e.Err)
	}
}

func (f *follower[U]) problem(err error) { f.event(Event{Kind: Problem, Err: err}) }

// contacts yields those of all users.
func (f *follower[U]) contacts(yield func(*contact) bool) {
	for _, u := range f.users {
		if !yield(u.way()) {
			return
		}
	}
}

// speakable reports whether this program can talk to the peer. If not, an event has the
// reason, once for all tries that end the same way.
//
//   - fits: nil if the messages of the two sides fit each other.
func (c *contact) speakable(fits error) bool {
	err := fits
	if have := c.dialer.backend.Name(); c.entry.Backend != have {
		err = &BackendError{c.entry.Role, c.entry.Backend, have}
	}
	if err != nil {
		c.reportRefusal(err)
	}
	return err == nil
}
