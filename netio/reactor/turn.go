// SPDX-License-Identifier: Apache-2.0

//go:build linux

package reactor

import "time"

// The turn of the loop, in the order of the steps in the package comment.

// run goes round until the loop is to stop.
func (l *EventLoop) run() error {
	for {
		l.runPosts()
		l.runPrepares()
		if l.stopping() {
			return nil
		}
		if err := l.wait(); err != nil {
			return err
		}
		l.counters.turns.Add(1)
		l.watchdog.arm()
		// What signals add to the list from here on is for the next turn.
		l.again, l.answering = l.answering, l.again
		l.guard((*EventLoop).serveEvents)
		l.runSignals()
		if l.events > 0 {
			l.counters.events.Add(l.events)
			l.events = 0
		}
	}
}

// wait fetches the events of the next turn. It blocks only if there is nothing
// else to do.
func (l *EventLoop) wait() error {
	now := l.endTurn()
	l.next = 0
	if !l.maySleep || len(l.again) > 0 || l.posts.pending() {
		l.awakeSince = now
		_, err := l.poller.poll()
		return err
	}
	idleSince := now
	if l.gap < l.config.BusyPoll {
		if found, err := l.spin(); found || err != nil {
			l.gap = l.awakeSince - idleSince
			return err
		}
	}
	if !l.arm() {
		_, err := l.poller.poll()
		l.awakeSince = l.now()
		l.gap = l.awakeSince - idleSince
		return err
	}
	err := l.sleep()
	l.gap = l.awakeSince - idleSince
	return err
}

// watch reports whether a Watcher has news.
func (l *EventLoop) watch() (news bool) {
	for _, r := range l.preparing {
		if r.watcher != nil && !r.closed.Load() && r.watcher.Watch() {
			return true
		}
	}
	return false
}

// arm calls each Watcher before the loop blocks, and reports whether it may. One that panics does not
// keep the loop awake.
func (l *EventLoop) arm() (sleep bool) {
	l.maySleep, l.next = true, 0
	l.guard((*EventLoop).serveArms)
	l.next = 0
	return l.maySleep
}

func (l *EventLoop) serveArms() {
	for l.next < len(l.preparing) {
		r := l.preparing[l.next]
		l.next++
		if r.watcher == nil || r.closed.Load() {
			continue
		}
		l.begin(r.index, r)
		if !r.watcher.Arm() {
			l.maySleep = false
		}
	}
	l.running.Store(0)
	l.current = nil
}

// endTurn notes that no callback runs, and how long the turn has taken.
func (l *EventLoop) endTurn() time.Duration {
	l.running.Store(0)
	l.current = nil
	now := l.now()
	if busy := int64(now - l.awakeSince); busy > l.counters.longest.Load() {
		l.counters.longest.Store(busy)
	}
	return now
}

// watches is how often a loop that spins looks at memory for each look at descriptors, which is a call of
// the system and takes as long as some ten of them.
const watches = 64

// unpolled is how many turns in a row may be for news of Watchers alone: then descriptors have their turn, which
// timers are, too.
const unpolled = 16

// look looks for something to do, and reports whether it has found something.
func (l *EventLoop) look() (found bool, err error) {
	for range watches {
		if found = l.watch(); found {
			break
		}
	}
	if l.newsOnly++; found && l.newsOnly <= unpolled {
		l.poller.ready = 0 // those of the last look are done
		return true, nil
	}
	l.newsOnly = 0
	n, err := l.poller.poll()
	return found || n > 0, err
}

// spin looks for something to do until BusyPoll is over, and reports whether it
// found something.
func (l *EventLoop) spin() (found bool, err error) {
	began := l.now()
	for {
		found, err = l.look()
		found = found || l.posts.pending() || l.stopping()
		l.awakeSince = l.now()
		if found || err != nil || l.awakeSince-began >= l.config.BusyPoll {
			l.counters.spinning.Add(int64(l.awakeSince - began))
			return found, err
		}
	}
}

// sleep blocks until there is an event.
//
// The loop sets sleeping, then looks for work again. Post and Stop add their work, then
// look at sleeping. So no wake-up is lost. One that is forgotten (poller.wake) does not
// matter, since the loop looks for work after each wait.
func (l *EventLoop) sleep() (err error) {
	began := l.now()
	l.counters.sleeps.Add(1)
	l.counters.asleepSince.Store(int64(began))
	l.sleeping.Store(true)
	if l.posts.waiting.Load() || l.stopping() {
		_, err = l.poller.poll()
	} else {
		_, err = l.poller.wait()
	}
	l.sleeping.Store(false)
	l.awakeSince = l.now()
	l.counters.asleepSince.Store(0)
	l.counters.asleep.Add(int64(l.awakeSince - began))
	return err
}

// wake ends the sleep of the loop, if it sleeps. Of several that find it
// sleeping one does the work. Threads: any.
func (l *EventLoop) wake() {
	if !l.sleeping.Load() || !l.sleeping.CompareAndSwap(true, false) {
		return
	}
	l.counters.wakeups.Add(1)
	l.poller.wake()
}

// serveEvents calls the sources of the batch. After a panic it goes on where it
// was.
func (l *EventLoop) serveEvents() {
	for l.next < l.poller.ready && !l.stopping() {
		e := &l.poller.batch[l.next]
		l.next++
		t := tokenOf(e)
		if t.index == wakeIndex {
			continue
		}
		r := l.table.lookup(t)
		if r == nil {
			l.counters.stale.Add(1)
			continue
		}
		l.events++
		l.begin(t.index, r)
		r.source.OnEvent(Events(e.Events))
	}
}

// servePrepares calls each PrepareWait. After a panic it goes on where it was;
// one that panicked does not keep the loop awake.
func (l *EventLoop) servePrepares() {
	for l.next < len(l.preparing) {
		r := l.preparing[l.next]
		l.next++
		if r.closed.Load() {
			continue
		}
		l.begin(r.index, r)
		if !r.prepare.PrepareWait() {
			l.maySleep = false
		}
	}
}

// runPrepares is the step of the turn. Those that are added meanwhile are
// called in the next turn, which comes at once.
func (l *EventLoop) runPrepares() {
	l.maySleep = true
	l.preparing = *l.prepares.Load()
	if len(l.preparing) == 0 {
		return
	}
	l.next = 0
	l.guard((*EventLoop).servePrepares)
}

// begin notes which callback runs, for the watchdog and for the report of a
// panic: one atomic store per callback.
func (l *EventLoop) begin(index uint32, r *Registration) {
	l.current = r
	l.sequence++
	l.running.Store(l.sequence<<24 | uint64(index))
}

// indexOf and sequenceOf take apart what begin has stored.
func indexOf(running uint64) uint32    { return uint32(running & (1<<24 - 1)) }
func sequenceOf(running uint64) uint64 { return running >> 24 }
