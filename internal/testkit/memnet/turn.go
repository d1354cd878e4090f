// SPDX-License-Identifier: Apache-2.0

package memnet

import (
	"slices"
	"time"

	"tagbus/internal/goroutine"
	"tagbus/netio"
)

// turnBudget is how many messages an endpoint receives, and how many it sends,
// before the others of its backend get their turn.
const turnBudget = 64

// schedule gives t a turn on the loop. It needs b.net.mu.
func (b *backend) schedule(t task) {
	m := t.mark()
	if m.queued {
		return
	}
	m.queued = true
	b.ready = append(b.ready, t)
	b.postTurn()
}

// postTurn needs b.net.mu. If the loop has ended, Close runs the turn.
func (b *backend) postTurn() {
	if !b.posted {
		b.posted = b.loop.Post(b.loopTurn)
	}
}

// loopTurn is a turn that came through the loop.
func (b *backend) loopTurn() {
	id := b.loopID()
	b.net.mu.Lock()
	b.posted = false
	b.loopGoroutine = id
	b.net.mu.Unlock()
	b.turn(id)
}

// loopID returns the number of the loop's goroutine, on which it is called. A Loop, also one
// that is embedded, knows it, which spares the look at the stack.
func (b *backend) loopID() uint64 {
	if l, ok := b.loop.(interface{ id() uint64 }); ok {
		return l.id()
	}
	return goroutine.ID()
}

// turn runs the tasks that are ready now; those that become ready meanwhile
// wait for the next one. self is the number of the calling goroutine.
func (b *backend) turn(self uint64) {
	b.turning.Lock()
	defer b.turning.Unlock()
	b.net.mu.Lock()
	defer b.net.mu.Unlock()
	b.turner = self
	defer func() {
		b.turner = 0
		if len(b.ready) > 0 { // as always after a callback that panicked
			b.postTurn()
		}
	}()
	for range len(b.ready) {
		t := b.ready[0]
		b.ready = b.ready[1:]
		t.mark().queued = false
		b.unlocked(t.turn)
	}
	if b.closing && !b.finished && len(b.endpoints) == 0 {
		b.finish()
	}
}

// unlocked runs f without the network's mutex, which it needs and takes back
// even if f panics.
func (b *backend) unlocked(f func()) {
	b.net.mu.Unlock()
	defer b.net.mu.Lock()
	f()
}

// finish ends a closed backend after its last callback. It needs b.net.mu.
func (b *backend) finish() {
	b.finished = true
	b.sleeping = nil
	b.net.backends = slices.DeleteFunc(b.net.backends, func(x *backend) bool { return x == b })
	if b.sharedSend != nil {
		b.sharedSend.pool.Retire()
	}
	// Fails only for a timer whose loop has ended, which never fires again.
	_ = b.timer.Close()
	close(b.done)
}

// notify reports an event to the observers and then calls the Handler. It
// needs b.net.mu and is without it meanwhile.
func (b *backend) notify(e Event, f func(h netio.Handler)) {
	observers := b.net.observers
	b.unlocked(func() {
		for _, o := range observers {
			o(e)
		}
		f(b.h)
	})
}

// wakeAt schedules t at the given time, if nothing does so before. It needs
// b.net.mu.
func (b *backend) wakeAt(t task, at time.Time) {
	m := t.mark()
	switch {
	case m.wake.IsZero():
		b.sleeping = append(b.sleeping, t)
	case !at.Before(m.wake):
		return
	}
	m.wake = at
	b.startTimer()
}

// startTimer needs b.net.mu.
func (b *backend) startTimer() {
	if len(b.sleeping) == 0 {
		return
	}
	first := slices.MinFunc(b.sleeping, func(x, y task) int { return x.mark().wake.Compare(y.mark().wake) })
	// Fails only when the loop has ended, and then nothing need be woken.
	_ = b.timer.StartOnce(max(1, time.Until(first.mark().wake)))
}

// wakeSleepers is what the timer calls.
func (b *backend) wakeSleepers() {
	b.net.mu.Lock()
	defer b.net.mu.Unlock()
	now := time.Now()
	b.sleeping = slices.DeleteFunc(b.sleeping, func(t task) bool {
		m := t.mark()
		if m.wake.After(now) {
			return false
		}
		m.wake = time.Time{}
		b.schedule(t)
		return true
	})
	b.startTimer()
}
