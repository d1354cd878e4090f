// SPDX-License-Identifier: Apache-2.0

package etcd

import (
	"context"
	"errors"
	"sync"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"tagbus/bus/directory"
)

// hushed is how long servers that have been there may be away before that is told: an
// election takes about a second.
const hushed = 3 * time.Second

// serversSource is the source of the problem that the servers are away.
const serversSource = "servers:"

// looker follows what the servers have and fills the Feed. It is started by the first
// Watch or List, and runs until the Directory is closed.
type looker struct {
	d     *Directory
	first chan struct{} // closed after the first try to look
	ask   chan struct{} // catchUp wants to know how far it is

	mu      sync.Mutex
	started bool
	synced  int64         // revision up to which the Feed has everything; 0: nothing
	lost    bool          // the servers are away, and watchers know
	moved   chan struct{} // closed when synced or lost changes

	shelf  shelf     // of the goroutine
	listed bool      // shelf is what the servers had at synced; of the goroutine
	ever   bool      // it was once; of the goroutine
	since  time.Time // when it began to fail; zero: it does not; of the goroutine
}

func (l *looker) init(d *Directory) {
	l.d = d
	l.first, l.ask, l.moved = make(chan struct{}), make(chan struct{}, 1), make(chan struct{})
	l.shelf.init(d)
}

// start begins to look, and waits for the first look.
//
//   - Errors: directory.ErrClosed.
func (l *looker) start() error {
	l.d.mu.Lock()
	if l.d.closed {
		l.d.mu.Unlock()
		return directory.ErrClosed
	}
	l.mu.Lock()
	if !l.started {
		l.started = true
		l.d.running.Go(l.run)
	}
	l.mu.Unlock()
	l.d.mu.Unlock()
	timer := time.NewTimer(l.d.config.AnnounceTimeout)
	defer timer.Stop()
	select {
	case <-l.first:
	case <-timer.C:
	case <-l.d.ctx.Done():
	}
	return nil
}

// run looks and follows, again and again.
func (l *looker) run() {
	timer := time.NewTimer(0)
	defer timer.Stop()
	begun := sync.OnceFunc(func() { close(l.first) })
	defer begun()
	compare := sync.OnceFunc(func() {
		if len(l.d.config.Endpoints) > 1 && l.d.around == nil {
			l.d.compareServers(l.d.ctx)
			l.d.running.Go(l.d.compareAll)
		}
	})
	for l.d.ctx.Err() == nil {
		var err error
		if !l.listed {
			err = l.list()
		}
		if err == nil {
			compare()
			begun()
			err = l.follow()
			l.d.servers.counts.add(&l.d.servers.counts.restarts)
		}
		if errors.Is(err, errStale) {
			l.listed = false
			continue
		}
		l.failed(err)
		begun()
		timer.Reset(jittered(retryAway))
		select {
		case <-l.d.ctx.Done():
		case <-timer.C:
		}
	}
}

// list looks at everything. If the servers have no leader, what one of them knows is better
// than nothing.
func (l *looker) list() error {
	err := l.shelf.list(true)
	if err == nil {
		l.listed, l.ever = true, true
		l.healthy()
		l.reached(l.shelf.revision, true)
		return nil
	}
	if errors.Is(err, ErrAway) && !l.ever && l.shelf.list(false) == nil {
		l.ever = true
	}
	return err
}

// failed notes that looking or following failed, and tells watchers when that has lasted.
func (l *looker) failed(err error) {
	if err == nil || l.d.ctx.Err() != nil {
		return
	}
	if errors.Is(err, ErrRefused) || errors.Is(err, errEnded) {
		l.listed = false // the next look says why, and gets a new token
	}
	now := time.Now()
	if l.since.IsZero() {
		l.since = now
	}
	if l.ever && errors.Is(err, ErrAway) && now.Sub(l.since) < hushed {
		return
	}
	if !l.isLost() || errors.Is(err, ErrRefused) { // the first cause of an outage says most
		l.d.feed.Report(serversSource, err)
	}
	// After the report: a List that finds them lost takes the cause from the Feed.
	l.mu.Lock()
	l.lost = true
	l.wakeAll()
	l.mu.Unlock()
}

// healthy notes that the servers answer.
func (l *looker) healthy() {
	l.since = time.Time{}
	l.mu.Lock()
	l.lost = false
	l.mu.Unlock()
	l.d.feed.Report(serversSource, nil)
}

// reached notes that the Feed has everything up to a revision.
//
//   - again: the revision may be smaller than before.
func (l *looker) reached(revision int64, anew bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if revision > l.synced || anew {
		l.synced = revision
		l.wakeAll()
	}
}

// wakeAll wakes those that wait in catchUp. The lock is held.
func (l *looker) wakeAll() {
	close(l.moved)
	l.moved = make(chan struct{})
}

// askAgain is how often catchUp asks a watch how far it is.
const askAgain = 50 * time.Millisecond

// catchUp returns when the Feed has what the servers had when it was called, or cannot get
// it in time.
//
//   - Errors: *ServerError, if nothing else has told that problem.
func (l *looker) catchUp() error {
	d := l.d
	if l.isLost() || d.several.Load() {
		return nil
	}
	var revision int64
	err := d.servers.do(d.ctx, kindList, func(ctx context.Context) error {
		response, err := d.servers.client.Get(ctx, d.epochKey(), clientv3.WithCountOnly())
		if err == nil {
			revision = response.Header.Revision
		}
		return err
	})
	if err != nil {
		return err
	}
	deadline := time.NewTimer(d.config.RequestTimeout)
	defer deadline.Stop()
	ticker := time.NewTicker(askAgain)
	defer ticker.Stop()
	for {
		l.mu.Lock()
		synced, lost, moved := l.synced, l.lost, l.moved
		l.mu.Unlock()
		if synced >= revision || lost {
			return nil
		}
		select {
		case l.ask <- struct{}{}:
		default:
		}
		select {
		case <-moved:
		case <-ticker.C:
		case <-d.ctx.Done():
			return nil
		case <-deadline.C:
			return d.servers.explain(context.Background(), context.DeadlineExceeded)
		}
	}
}

func (l *looker) isLost() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.lost
}
