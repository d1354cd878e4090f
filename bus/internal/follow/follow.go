// SPDX-License-Identifier: Apache-2.0

// Package follow keeps a user for each entry of one role in a directory: it makes one
// when an entry appears, and tells it what becomes of the entry.
//
// An entry can be refused, for example because it is too large to work with. It is then
// as if it stayed as it was before, or were not there. The reason is reported once, until
// the entry is gone or good.
package follow

import "tagbus/bus/directory"

// User is what a follower keeps for an entry.
type User interface {
	Take(e directory.Event) // the entry has appeared or changed
	Gone()                  // the entry is gone
}

// Follower follows the entries of one role in a directory. All functions are called on
// the loop.
type Follower[U User] struct {
	Role    directory.Role
	Users   map[string]U // by the instance of the entry; users that are not needed any more are deleted from outside
	Create  func() U
	Refuse  func(e directory.Entry) error // returns why an entry is refused, or nil
	Problem func(err error)               // reports why an entry is refused, and problems of the directory

	refused map[string]struct{} // instances whose entries were reported
	stop    func()
}

// Watch begins to follow a directory, until End.
//
//   - post: runs a function on the loop later: netio.Loop.Post.
//   - ended: reports whether to ignore further events. Called on the loop.
//   - Errors: the directory's.
//   - Blocks: for the directory's storage.
func (f *Follower[U]) Watch(dir directory.Directory, post func(func()) bool, ended func() bool) (err error) {
	f.stop, err = dir.Watch(func(e directory.Event) {
		post(func() {
			if !ended() {
				f.follow(e)
			}
		})
	})
	return err
}

// End stops following, if Watch has begun it.
func (f *Follower[U]) End() {
	if f.stop != nil {
		f.stop()
	}
}

// follow takes an event of the directory. Loop only.
func (f *Follower[U]) follow(e directory.Event) {
	if e.Kind == directory.Problem {
		f.Problem(e.Err) // the entry stays as it was
		return
	}
	if e.Entry.Role != f.Role || f.refuses(e) {
		return
	}
	u, known := f.Users[e.Entry.Instance]
	switch {
	case e.Kind != directory.Gone:
		if !known {
			u = f.Create()
			f.Users[e.Entry.Instance] = u
		}
		u.Take(e)
	case known:
		u.Gone()
	}
}

// refuses reports whether an entry is refused, and reports the reason once.
func (f *Follower[U]) refuses(e directory.Event) bool {
	var reason error
	if e.Kind != directory.Gone {
		reason = f.Refuse(e.Entry)
	}
	if reason == nil {
		delete(f.refused, e.Entry.Instance)
		return false
	}
	if _, reported := f.refused[e.Entry.Instance]; !reported {
		if f.refused == nil {
			f.refused = make(map[string]struct{})
		}
		f.refused[e.Entry.Instance] = struct{}{}
		f.Problem(reason)
	}
	return true
}
