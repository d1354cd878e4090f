// SPDX-License-Identifier: Apache-2.0

package bus

import (
	"errors"
	"sync"
	"time"

	"tagbus/bus/directory"
)

// A directory tells of one publisher after another, and the first may have acknowledged before the next one
// is known. So the first Wait of a subscriber looks at the directory, and waits until the watch
// has told of all publishers that were there.
const (
	lookSoon   = 20 * time.Millisecond // after a look at which some were not known yet; each time twice as long
	lookSeldom = 5 * time.Second

	// How long Wait waits for the look beyond an acknowledgement: while the directory does not answer, and while it
	// answers and its watch does not tell of what it has.
	lookPatience = 10 * time.Second
	tellPatience = time.Minute
)

// look is the look at the directory of the first Wait.
type look struct {
	dir   directory.Directory // nil: there is none
	once  sync.Once
	whole chan struct{} // closed, on the loop, when all that was there is known

	// Loop only.
	missing []directory.Entry // that the last look has found, from the first on of which the watch has not told
	ended   bool

	mu  sync.Mutex
	err error // why it is not; nil: the watch has not told of all
}

// wholeLook returns what is closed once all publishers are known that the directory had at the first call.
// Threads: any.
func (s *Subscriber) wholeLook() <-chan struct{} {
	s.look.once.Do(func() {
		if s.look.dir == nil {
			close(s.look.whole)
			return
		}
		go s.lookAtAll(lookSoon)
	})
	return s.look.whole
}

// lookAtAll looks at the directory, and again after a pause until all that it has is known.
func (s *Subscriber) lookAtAll(pause time.Duration) {
	entries, err := s.look.dir.List()
	s.loop.Post(func() {
		switch {
		case s.closed.Load(), s.look.ended:
		case errors.Is(err, directory.ErrClosed):
			s.reopen()
		case err != nil && len(entries) == 0: // the entries are valid whatever the problems are
			s.lookAgain(pause, err)
		default:
			s.look.missing = entries
			s.lookAgain(pause, nil) // what is missing now may be gone before the watch tells of it
			s.work.Add(s.compare(entries))
		}
	})
}

// toldAll is called when all that the watch has told is handled. Loop only.
func (s *Subscriber) toldAll() {
	if len(s.look.missing) > 0 {
		s.work.Add(s.compare(s.look.missing))
	}
}

// lookAgain looks again after a pause.
//
//   - err: why that is needed; nil: the watch has not told of all.
func (s *Subscriber) lookAgain(pause time.Duration, err error) {
	s.look.mu.Lock()
	s.look.err = err
	s.look.mu.Unlock()
	time.AfterFunc(pause, func() {
		select {
		case <-s.look.whole:
		default:
			if !s.closed.Load() {
				s.lookAtAll(min(2*pause, lookSeldom))
			}
		}
	})
}

// compare returns the job that ends the look if all publishers in entries are known.
func (s *Subscriber) compare(entries []directory.Entry) func(budget int) (steps int, done bool) {
	return func(budget int) (steps int, done bool) {
		if s.look.ended {
			return 1, true
		}
		for ; len(entries) > 0; entries = entries[1:] {
			if steps++; steps > budget {
				return steps, false
			}
			if e := &entries[0]; e.Role == directory.Publisher && !s.directory.Knows(e.Instance) {
				s.look.missing = entries
				return steps, true
			}
		}
		s.reopen()
		return steps, true
	}
}

// reopen ends the look: subscriptions that were acknowledged before it wait for what it has shown. Loop only.
func (s *Subscriber) reopen() {
	s.look.ended, s.look.missing = true, nil
	again := s.subs.Each(func(sub *Subscription) (steps int) {
		sub.mu.Lock()
		if r := sub.ready; r.settled && r.err == nil {
			sub.ready = newOutcome()
		}
		sub.mu.Unlock()
		sub.maybeReady()
		return 1 + len(s.sources)
	})
	s.work.Add(func(budget int) (steps int, done bool) {
		if steps, done = again(budget); done {
			close(s.look.whole)
		}
		return steps, done
	})
}

// why returns why the look is not whole; nil: the watch has not told of all.
func (l *look) why() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.err
}
