// SPDX-License-Identifier: Apache-2.0

// Package listing keeps the entry of a client in the directory of the clients: that of a
// subscriber or a sender, for operators who look for it.
//
// Nothing waits for the entry, and nothing fails without it. It is written some time after the
// start, so that a program that looks for a moment leaves nothing, and seldom after that.
// A directory that refuses it, or does not answer, is tried again seldom.
package listing

import (
	"sync"
	"time"

	"tagbus/bus/directory"
)

const (
	first   = 250 * time.Millisecond // after the start
	spacing = 10 * time.Second       // between two changes
	retry   = time.Minute            // after a directory has refused the entry
	goodbye = 250 * time.Millisecond // that the end waits for the storage
)

// Listing is the entry of one client. A nil one does nothing.
//
// Threads: any, for all methods.
type Listing struct {
	clients   directory.Directory
	describe  func() (e directory.Entry, ok bool)
	announced func(directory.Registration)

	mu         sync.Mutex
	timer      *time.Timer // of work
	due        bool        // it runs
	working    bool
	ended      bool
	written    time.Time
	registered directory.Registration // nil: not announced
	entry      directory.Entry        // as announced
	gone       chan struct{}          // closed when it is withdrawn, or will not be
	unfollow   func()
}

// Start lists a client in the directory of the clients of d. It returns nil if there is none.
//
//   - describe: returns the entry as it is now; ok is false at the end of the client. Called from
//     goroutines of the Listing, and may block.
//   - announced: called once, when the entry is there; it must not block.
//   - follow: calls changed when something has changed of which describe tells, until stop.
//   - Blocks: never.
func Start(d directory.Directory, describe func() (e directory.Entry, ok bool), announced func(directory.Registration), follow func(changed func()) (stop func())) *Listing {
	clients := directory.ClientsOf(d)
	if clients == nil {
		return nil
	}
	l := &Listing{clients: clients, describe: describe, announced: announced, due: true, gone: make(chan struct{})}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.timer = time.AfterFunc(first, l.work)
	l.unfollow = follow(l.Changed) // which waits for the lock
	return l
}

// Changed makes the entry follow what describe returns, soon. Blocks: never.
func (l *Listing) Changed() {
	if l == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.schedule(spacing - time.Since(l.written))
}

// schedule makes work run, unless it is going to. The lock is held.
func (l *Listing) schedule(after time.Duration) {
	if !l.due && !l.ended {
		l.due = true
		l.timer.Reset(max(0, after))
	}
}

// work announces the entry, or changes it. It runs on the goroutine of the timer.
func (l *Listing) work() {
	l.mu.Lock()
	l.due = false
	if l.ended || l.working {
		defer l.mu.Unlock()
		l.schedule(spacing)
		return
	}
	l.working = true
	r, before := l.registered, l.entry
	l.mu.Unlock()
	e, ok := l.describe()
	var err error
	switch {
	case !ok:
	case r == nil:
		r, err = l.clients.Announce(e)
	case !e.Equal(before):
		_ = r.Update(e) // the directory goes on trying by itself
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.working, l.written = false, time.Now()
	if err == nil && ok {
		if l.registered == nil && !l.ended {
			l.announced(r)
		}
		l.registered, l.entry = r, e
	}
	switch {
	case l.ended:
		go l.withdraw()
	case err != nil:
		l.schedule(retry)
	}
}

// withdraw takes the entry away. The end has begun, and nothing works.
func (l *Listing) withdraw() {
	if l.registered != nil {
		_ = l.registered.Withdraw() // it expires
	}
	close(l.gone)
}

// End begins to take the entry away, once. wait waits until it is, for a moment only: a
// storage that does not answer holds up nothing.
func (l *Listing) End() (wait func()) {
	if l == nil {
		return func() {}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.ended {
		l.ended = true
		l.timer.Stop()
		l.unfollow()
		if !l.working { // else work does it
			go l.withdraw()
		}
	}
	return func() {
		timer := time.NewTimer(goodbye)
		defer timer.Stop()
		select {
		case <-l.gone:
		case <-timer.C:
		}
	}
}
