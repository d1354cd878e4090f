// SPDX-License-Identifier: Apache-2.0

package hostaddr

import (
	"context"
	"net/netip"
	"slices"
	"sync"
	"time"
)

// When a watcher looks, and what it tells.
const (
	settle    = 250 * time.Millisecond // from a notice to the look: several come for each change
	restless  = 2 * time.Second        // between looks while notices go on
	shrinking = 3 * time.Second        // that an address has been missing, before that is told: DHCP takes some away and brings them back
	often     = 2 * time.Second        // between looks where nothing tells of changes
	seldom    = 30 * time.Second       // and where something does, which may be missed while the host sleeps
	burst     = 4                      // changes that are told at once
	pause     = 15 * time.Second       // after which one more may be told
)

// Host is what knows the addresses of this host.
type Host interface {
	// Addresses returns those that others may dial, as Select does. While the host is watched
	// they are those of the last token: all users have the same, and end with the last ones.
	//
	// Errors: those of the system.
	Addresses() ([]netip.Addr, error)

	// All returns those that this host has now: of which others had better dial another one, too.
	//
	// Errors: those of the system.
	All() ([]netip.Addr, error)

	// Watch returns what has a token once the addresses have changed, until stop. The first
	// one comes soon: they may have changed before.
	Watch() (changed <-chan struct{}, stop func())
}

// Watcher is a Host that looks at the system while it is watched. At most burst changes
// come at once, and then one in each pause. The last one always comes.
//
// Threads: any.
type Watcher struct {
	list   func() ([]Address, error)
	listen func() (notices, error)

	mu     sync.Mutex
	users  map[chan struct{}]struct{}
	cancel context.CancelFunc // nil: nothing is watched
	told   []netip.Addr       // to the users
	known  bool               // told is
}

// notices is what tells of changes.
type notices interface {
	Read([]byte) (int, error) // returns when something has changed
	Close() error             // ends Read
}

// System is the Host of all programs.
var System Host = &Watcher{list: list, listen: listen}

// Addresses implements Host.
func (w *Watcher) Addresses() ([]netip.Addr, error) {
	w.mu.Lock()
	told, known := w.told, w.known
	w.mu.Unlock()
	if known {
		return slices.Clone(told), nil
	}
	return w.see()
}

// All implements Host.
func (w *Watcher) All() (all []netip.Addr, err error) {
	list, err := w.list()
	for _, a := range list {
		if a.Up && !a.Tentative {
			all = append(all, a.Prefix.Addr().Unmap().WithZone(""))
		}
	}
	return all, err
}

// see lists the addresses of now.
func (w *Watcher) see() ([]netip.Addr, error) {
	all, err := w.list()
	return Select(all), err
}

// Watch implements Host. The first one begins to look, and the last stop ends that.
func (w *Watcher) Watch() (changed <-chan struct{}, stop func()) {
	c := make(chan struct{}, 1)
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.users == nil {
		w.users = make(map[chan struct{}]struct{})
	}
	w.users[c] = struct{}{}
	if w.cancel != nil {
		c <- struct{}{} // the first token of the others may have been before
	} else {
		ctx, cancel := context.WithCancel(context.Background())
		w.cancel = cancel
		go w.run(ctx)
	}
	return c, sync.OnceFunc(func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		if delete(w.users, c); len(w.users) == 0 {
			w.cancel()
			w.cancel, w.told, w.known = nil, nil, false
		}
	})
}

// tell gives each user a token, until ctx ends.
//
//   - known: all are the addresses of the host; else they could not be listed.
func (w *Watcher) tell(ctx context.Context, all []netip.Addr, known bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if ctx.Err() != nil {
		return // the users of now have another goroutine
	}
	w.told, w.known = all, known
	for c := range w.users {
		select {
		case c <- struct{}{}:
		default:
		}
	}
}

// run looks until ctx ends.
func (w *Watcher) run(ctx context.Context) {
	noticed := make(chan struct{}, 1)
	interval := often
	if n, err := w.listen(); err == nil {
		interval = seldom
		var reader sync.WaitGroup
		reader.Go(func() { notify(n, noticed) })
		defer reader.Wait()
		defer n.Close() //nolint:errcheck // nothing can be lost
	}
	var heeded time.Time // when a notice last led to a look
	all, err := w.see()  // after an error none: the next look has some
	p := pacer{tokens: burst, told: all}
	w.tell(ctx, all, err == nil) // something may have changed before
	timer := time.NewTimer(interval)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case _, open := <-noticed:
			if !open {
				noticed, interval = nil, often // nothing tells of changes any more
			}
			timer.Reset(max(settle, restless-time.Since(heeded)))
			select {
			case <-timer.C:
			case <-ctx.Done():
				return
			}
			heeded = time.Now()
			select {
			case <-noticed: // the look will see it, too
			default:
			}
		case <-timer.C:
		}
		timer.Reset(min(interval, w.look(ctx, &p)))
	}
}

// look looks at the system, tells a change, and returns when to look again at the latest.
func (w *Watcher) look(ctx context.Context, p *pacer) (again time.Duration) {
	all, err := w.see()
	if err != nil {
		return seldom
	}
	tell, again := p.look(time.Now(), all)
	if tell {
		w.tell(ctx, all, true)
	}
	return again
}

// notify notes on noticed that the kernel has told something. It closes that when nothing
// is told any more.
func notify(n notices, noticed chan<- struct{}) {
	defer close(noticed)
	buffer := make([]byte, 64<<10)
	for {
		if _, err := n.Read(buffer); err != nil && !isOverflow(err) {
			return
		}
		select {
		case noticed <- struct{}{}:
		default:
		}
	}
}

// pacer decides when a change is told.
type pacer struct {
	told    []netip.Addr
	tokens  int
	earned  time.Time // when the last token was
	missing time.Time // since when there is nothing new, and something is missing; zero: no
}

// look notes what there is, and reports whether to tell that it has changed. again is when
// to look again at the latest.
func (p *pacer) look(now time.Time, all []netip.Addr) (tell bool, again time.Duration) {
	if p.tokens == burst {
		p.earned = now
	}
	for p.tokens < burst && now.Sub(p.earned) >= pause {
		p.tokens++
		p.earned = p.earned.Add(pause)
	}
	if slices.Equal(all, p.told) {
		p.missing = time.Time{}
		return false, seldom
	}
	isNew := func(ip netip.Addr) bool { return !slices.Contains(p.told, ip) }
	if !slices.ContainsFunc(all, isNew) { // some are missing, or in another order
		if p.missing.IsZero() {
			p.missing = now
		}
		if lasted := now.Sub(p.missing); lasted < shrinking {
			return false, shrinking - lasted
		}
	}
	if p.tokens == 0 {
		return false, pause - now.Sub(p.earned)
	}
	p.tokens--
	p.told, p.missing = all, time.Time{}
	return true, seldom
}
