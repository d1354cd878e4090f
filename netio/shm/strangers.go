// SPDX-License-Identifier: Apache-2.0

//go:build linux

package shm

import "container/list"

// strangers are the accepted endpoints that have not introduced themselves yet, the oldest first.
type strangers struct {
	list.List                // of *endpoint
	of        map[uint32]int // how many of a user there are
}

// add adds e.
func (all *strangers) add(e *endpoint) {
	if all.of == nil {
		all.of = make(map[uint32]int)
	}
	e.stranger = all.PushBack(e)
	all.of[e.credentials.Uid]++
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
}

// first returns the oldest one of the user that has most of them, so that no user keeps out those of another
// one; nil: there is none.
func (all *strangers) first() *endpoint {
	most := 0
	for _, n := range all.of {
		most = max(most, n)
	}
	for at := all.Front(); at != nil; at = at.Next() {
		if e := at.Value.(*endpoint); all.of[e.credentials.Uid] == most {
			return e
		}
	}
	return nil
}
