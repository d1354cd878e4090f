// SPDX-License-Identifier: Apache-2.0

package directory

// mergeEvents is the length of a backlog from which on events of one instance are merged.
// It only has to be longer than the bursts of a healthy bus: merging keeps a watcher that
// hangs from holding all history in memory.
const mergeEvents = 1024

// Backlog is events that wait for a user. It is bounded by what they say in the end: once
// it is long, at most one event and one problem of each source wait. The zero value is
// empty.
//
// Threads: one at a time.
type Backlog struct {
	queue   []queued
	mergeAt int // length at which to merge next, if above mergeEvents
}

// queued is an event with the instance or the other source that it is about.
type queued struct {
	source string
	event  Event
}

// Len returns how many events wait.
func (b *Backlog) Len() int { return len(b.queue) }

// Push adds an event.
//
//   - source: what it is about: an instance or, for a Problem, any other name.
func (b *Backlog) Push(source string, e Event) {
	b.queue = append(b.queue, queued{source, e})
	if len(b.queue) >= max(b.mergeAt, mergeEvents) {
		b.queue = merged(b.queue)
		b.mergeAt = 2 * len(b.queue)
	}
}

// Pop takes the first event. ok is false if there is none.
func (b *Backlog) Pop() (e Event, ok bool) {
	if len(b.queue) == 0 {
		*b = Backlog{} // lets go of the array, whose head the slice no longer shows
		return Event{}, false
	}
	e = b.queue[0].event
	b.queue[0] = queued{}
	b.queue = b.queue[1:]
	return e, true
}

// merged returns the shortest queue that tells a watcher the same in the end:
// for each instance at most one event, and for each problem its last text.
func merged(queue []queued) []queued {
	type state struct {
		existed, exists bool   // before the first and after the last event of the queue
		last            int    // index of the last event but problems
		problem         *Event // last problem
	}
	states := make(map[string]*state)
	for i, q := range queue {
		s := states[q.source]
		if s == nil {
			s = &state{last: -1}
			states[q.source] = s
		}
		if q.event.Kind == Problem {
			s.problem = &queue[i].event
			continue
		}
		if s.last < 0 {
			s.existed = q.event.Kind != Appeared
		}
		s.exists = q.event.Kind != Gone
		s.last = i
	}
	var result []queued
	for i, q := range queue {
		s := states[q.source]
		switch {
		case s.last == i && (s.existed || s.exists):
			if q.event.Kind = Changed; !s.existed {
				q.event.Kind = Appeared
			} else if !s.exists {
				q.event.Kind = Gone
			}
			result = append(result, q)
		case s.problem == &queue[i].event:
			result = append(result, q)
		}
	}
	return result
}
