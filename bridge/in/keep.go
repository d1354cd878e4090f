// SPDX-License-Identifier: Apache-2.0

package in

import (
	"fmt"
	"maps"
	"sync"
	"time"

	"tagbus/bridge/durable"
	"tagbus/bus"
)

const (
	// keepEvery is how often the position is looked at: it is stored when what is before it was sent to all subscribers by the look before.
	keepEvery = time.Second
	// keepPatience is how long the file system may take at the end.
	keepPatience = 5 * time.Second
)

// keeper keeps the position of a run in a file. What it does for the file it does on a goroutine of its own, which a file system may hold up
// for ever.
type keeper struct {
	file    storage // of the goroutine
	path    string
	problem func(error)

	mu        sync.Mutex
	now       place   // as of what was published
	publisher counter // nil: none yet

	end  chan bool // whether all that was published was received
	done chan error
}

// storage is a file for a place: a *placeFile.
type storage interface {
	store(p place) error
	close()
}

// counter counts what it has sent: a *bus.Publisher.
type counter interface{ Stats() bus.PublisherStats }

// keep begins to keep a position.
func keep(file *placeFile, now place, problem func(error)) *keeper {
	k := &keeper{file: file, path: file.path, now: now, problem: problem, end: make(chan bool, 1), done: make(chan error, 1)}
	stored := k.at() // here: the goroutine may begin after all was published
	go func() { k.done <- k.run(stored) }()
	return k
}

// serve notes the publisher.
func (k *keeper) serve(p counter) {
	if k == nil {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.publisher = p
}

// stats returns what the publisher has sent.
func (k *keeper) stats() (s bus.PublisherStats) {
	k.mu.Lock()
	p := k.publisher
	k.mu.Unlock()
	if p != nil {
		s = p.Stats()
	}
	return s
}

// passed notes that a record was published.
func (k *keeper) passed(part string, at durable.Position) {
	if k == nil {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.now.Behind[part], k.now.Within = at, nil
}

// within notes that messages of a record were published, up to a counter.
func (k *keeper) within(w within) {
	if k == nil {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.now.Within = &w
}

func (k *keeper) at() place {
	k.mu.Lock()
	defer k.mu.Unlock()
	p := k.now
	p.Behind = maps.Clone(p.Behind)
	return p
}

// same reports whether two places of a log are the same.
func (p *place) same(q *place) bool {
	return maps.Equal(p.Behind, q.Behind) && (p.Within == nil) == (q.Within == nil) && (p.Within == nil || *p.Within == *q.Within)
}

// close ends it.
//
//   - all: subscribers have all that was published.
//   - Errors: ErrNotStored.
func (k *keeper) close(all bool) error {
	if k == nil {
		return nil
	}
	k.end <- all
	late := time.NewTimer(keepPatience)
	defer late.Stop()
	select {
	case err := <-k.done:
		return err
	case <-late.C:
		return fmt.Errorf("%w: the file system of %s does nothing", ErrNotStored, k.path)
	}
}

// run stores what was sent.
//
//   - stored: what the file has.
func (k *keeper) run(stored place) error {
	defer k.file.close()
	failing := false
	sending, sent := stored, true
	var due map[link]uint64
	look := time.NewTicker(keepEvery)
	defer look.Stop()
	for {
		select {
		case all := <-k.end:
			if all {
				sending = k.at()
			} else if !sent {
				sending = stored
			}
			if sending.same(&stored) && !failing {
				return nil
			}
			if err := k.file.store(sending); err != nil {
				return fmt.Errorf("%w: %w", ErrNotStored, err)
			}
			return nil
		case <-look.C:
		}
		switch {
		case !sent:
			sent = reached(k.stats(), due)
			continue
		case failing || !sending.same(&stored):
			if failing = k.try(sending, failing); failing {
				continue
			}
			stored = sending
		}
		if sending = k.at(); !sending.same(&stored) { // before the stats: all that is in it is in them
			due, sent = dueOf(k.stats()), false
		}
	}
}

// try stores a position, and reports whether it has failed. The first time it is told.
func (k *keeper) try(p place, failing bool) bool {
	err := k.file.store(p)
	if err != nil && !failing && k.problem != nil {
		k.problem(fmt.Errorf("bridge/in: the position is not stored, and is tried again: %w", err))
	}
	return err != nil
}

// link is a connection of a subscriber.
type link struct {
	instance string
	since    time.Time
}

// dueOf returns how many bytes each connection will have sent when it has what is queued now.
func dueOf(s bus.PublisherStats) map[link]uint64 {
	due := make(map[link]uint64)
	for _, sub := range s.Subscribers {
		due[link{sub.Peer.Instance, sub.Since}] = sub.Bytes + uint64(sub.Queued)
	}
	return due
}

// reached reports whether connections have sent what was due, or have ended.
func reached(s bus.PublisherStats, due map[link]uint64) bool {
	for _, sub := range s.Subscribers {
		if want, ok := due[link{sub.Peer.Instance, sub.Since}]; ok && sub.Queued > 0 && sub.Bytes < want {
			return false
		}
	}
	return true
}
