// SPDX-License-Identifier: Apache-2.0

package workqueue

// Share is what one of several peers causes of the work of a queue, by its messages. A
// peer that causes much is not read for a while: its next message waits in its own
// socket, and the others go on.
type Share struct {
	queue         *Queue
	pause, resume func()
	spent         int  // steps in a slice
	slice         int  // which one
	paid          int  // steps of this slice that are taken off the budget already
	resting       bool // until the next slice
}

// Share returns the share of a peer that has caused nothing yet.
//
//   - pause, resume: end and go on with reading from the peer. The calls of resume undo
//     those of pause one by one.
func (q *Queue) Share(pause, resume func()) Share {
	return Share{queue: q, pause: pause, resume: resume}
}

// Add adds a job of the peer, which is not read until it is done.
func (s *Share) Add(job Job) {
	var done, paused bool
	s.queue.Add(func(budget int) (steps int, _ bool) {
		steps, done = job(budget)
		if done && paused {
			s.resume()
		}
		return steps, done
	})
	if !done {
		paused = true
		s.pause()
	}
}

// Spend counts the work of a message, in steps. All messages of one turn of the loop
// share the budget of a slice. Spend reports whether some of it is left. If not, Rest
// follows for all peers.
func (s *Share) Spend(steps int) (left bool) {
	if s.slice != s.queue.Slices {
		s.slice, s.spent, s.paid = s.queue.Slices, 0, 0
	}
	s.spent += steps
	paid := min(s.paid, steps)
	s.paid -= paid
	return s.queue.spend(steps - paid)
}

// Rest stops reading until a slice has room for as much work as the peer has caused in
// this one. That work is paid for in advance: otherwise all peers would go on at once.
func (s *Share) Rest() {
	if s.resting {
		return
	}
	s.resting = true
	steps := 0
	if s.slice == s.queue.Slices {
		steps = s.spent
	}
	s.pause()
	s.queue.Add(func(int) (int, bool) {
		s.resting = false
		s.slice, s.spent, s.paid = s.queue.Slices, 0, steps
		s.resume()
		return 1 + steps, true
	})
}
