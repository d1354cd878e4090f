// SPDX-License-Identifier: Apache-2.0

//go:build linux

package shm

import "slices"

// An endpoint that has read all is watched: as long as the loop is awake, it looks itself at what is
// published, in each turn and while it spins, and the other side makes no call of the system to wake it. Before the loop
// blocks the endpoint says that it sleeps.

// maxWatched bounds what a look costs. Further endpoints say at once that they sleep.
const maxWatched = 16

// watch begins to watch an endpoint that has read all. It reports false if there are too many.
func (b *backend) watch(e *endpoint) bool {
	if !e.watched {
		if len(b.watched) == maxWatched {
			return false
		}
		e.watched = true
		b.watched = append(b.watched, e)
	}
	e.reader.awake()
	return true
}

// unwatch ends that.
func (b *backend) unwatch(e *endpoint) {
	if e.watched {
		e.watched = false
		b.watched = slices.DeleteFunc(b.watched, func(other *endpoint) bool { return other == e })
	}
}

// Watch implements reactor.Watcher. The loop runs, so Turn is free.
func (b *backend) Watch() (news bool) {
	for _, e := range b.watched {
		if e.hasNews() {
			return true
		}
	}
	return false
}

// look leaves what was published for watched endpoints to the rest of the turn.
func (b *backend) look() {
	for _, e := range b.watched {
		if e.hasNews() {
			e.ScheduleHere(toRead)
		}
	}
}

// Arm implements reactor.Watcher.
func (b *backend) Arm() (sleep bool) {
	b.Turn.Lock()
	defer b.Turn.Unlock()
	b.watched = slices.DeleteFunc(b.watched, func(e *endpoint) bool {
		e.watched = e.mayReceive() && e.reader.sleep() // more has come: the next turn finds it
		return !e.watched
	})
	return len(b.watched) == 0
}

// hasNews reports whether there is something to be received.
func (e *endpoint) hasNews() bool { return e.mayReceive() && e.reader.news() }

// mayReceive reports whether messages are delivered now.
func (e *endpoint) mayReceive() bool { return e.state == reported && e.Hold() == 0 }
