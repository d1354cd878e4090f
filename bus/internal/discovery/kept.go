// SPDX-License-Identifier: Apache-2.0

package discovery

import (
	"slices"
	"time"

	"tagbus/bus/internal/workqueue"
)

// Absence is whether a user may be forgotten.
type Absence uint8

// The absences.
const (
	Here   Absence = iota // its entry is there
	Going                 // its entry is gone, and it is about to be
	Absent                // it is kept in case that it comes back
)

// Kept bounds how many absent users are kept. All functions are called on the loop.
type Kept[U any] struct {
	Users  map[string]U // Forget deletes from it
	Work   *workqueue.Queue
	Most   int
	Of     func(U) (absence Absence, since time.Time)
	Forget func(U) (steps int)

	absent int // at most so many are not Here
	once   workqueue.Once
}

// Left notes that the entry of a user has gone. If too many are absent, those that are for
// the longest time are forgotten. It looks once for all that go at the same time.
func (k *Kept[U]) Left() {
	if k.absent++; k.absent > k.Most {
		k.once.Add(k.Work, func() workqueue.Job { return k.trim })
	}
}

// trim is the job that forgets those that are too many.
func (k *Kept[U]) trim(int) (steps int, done bool) {
	type absent struct {
		user  U
		since time.Time
	}
	var all []absent
	k.absent = 0
	for _, u := range k.Users {
		switch absence, since := k.Of(u); absence {
		case Here:
		case Going:
			k.absent++
		case Absent:
			all = append(all, absent{u, since})
		}
	}
	steps = len(k.Users) + 1
	k.absent += min(len(all), k.Most)
	if len(all) > k.Most {
		slices.SortFunc(all, func(a, b absent) int { return a.since.Compare(b.since) })
		for _, oldest := range all[:len(all)-k.Most] {
			steps += k.Forget(oldest.user)
		}
	}
	return steps, true
}
