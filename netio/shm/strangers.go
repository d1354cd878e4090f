// SPDX-License-Identifier: Apache-2.0

//go:build linux

package shm

import "container/list"

// strangers are the accepted endpoints that have not introduced themselves yet, the oldest first.
type strangers struct {
	list.List                // of *endpoint
	of        map[uint32]int // how many of a user there are
	group     map[uint32]int // the same of all users with one groupOf
}

// groupOf returns what users have in common that one user may be: the system gives a user 65,536
// subordinate ones to start containers with (subuid(5)).
func groupOf(user uint32) uint32 { return user >> 16 }

// add adds e.
func (all *strangers) add(e *endpoint) {
	if all.of == nil {
		all.of, all.group = make(map[uint32]int), make(map[uint32]int)
	}
	e.stranger = all.PushBack(e)
	user := e.credentials.Uid
	all.of[user]++
	all.group[groupOf(user)]++
}

// remove takes e out, if it is in.
func (all *strangers) remove(e *endpoint) {
	if e.stranger == nil {
		return
	}
	all.Remove(e.stranger)
	e.stranger = nil
	user := e.credentials.Uid
	if all.of[user]--; all.of[user] == 0 {
		delete(all.of, user)
	}
	if all.group[groupOf(user)]--; all.group[groupOf(user)] == 0 {
		delete(all.group, groupOf(user))
	}
}

// first returns the oldest one of the user that has most of them, in the group that has most, so that no
// user keeps out those of another one; nil: there is none.
func (all *strangers) first() (found *endpoint) {
	most, mostOfGroup := 0, 0
	for at := all.Front(); at != nil; at = at.Next() {
		e := at.Value.(*endpoint)
		user := e.credentials.Uid
		if n, ofGroup := all.of[user], all.group[groupOf(user)]; ofGroup > mostOfGroup || ofGroup == mostOfGroup && n > most {
			most, mostOfGroup, found = n, ofGroup, e
		}
	}
	return found
}
