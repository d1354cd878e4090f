// SPDX-License-Identifier: Apache-2.0

package signed

import (
	"crypto/sha256"
	"errors"
	"sync"
	"time"

	"tagbus/bus/directory"
	"tagbus/identity"
	"tagbus/internal/backoff"
)

// What proofs are made and judged by.
const (
	RenewAfter = time.Hour       // age at which an announcer signs again
	MaxAge     = 3 * time.Hour   // of a proof, by the clock of the reader
	MaxSkew    = 5 * time.Minute // by which the clocks of announcer and reader may differ

	lookEvery = time.Minute // at what is known, since certificates and proofs end
	firstLook = 5 * time.Second
	maxSeen   = 1 << 16 // instances of signers that are remembered
	maxPeers  = 1 << 10 // verified chains that are remembered
	maxTold   = 1 << 10 // texts of problems
)

// Directory signs what is announced through it, and shows what others have signed. Wrap makes
// one.
//
// Threads: any, for all methods. Entries are verified on goroutines of its own, and on that
// which calls List.
type Directory struct {
	inner      directory.Directory // waits for wrapped for a bounded time
	wrapped    directory.Directory
	cfg        Config
	feed       directory.Feed // of what is shown
	stopAccess func()
	quit       chan struct{}
	running    sync.WaitGroup
	renew      chan struct{} // has a value when certificates may have changed
	look       chan struct{} // the same

	starting  sync.Mutex // held while the first watch begins
	stopInner func()     // of the watch of inner; nil: there is none

	mu            sync.Mutex
	closed        bool
	registrations map[*registration]struct{}
	renewing      bool  // the goroutine for that runs
	serial        int64 // of the last proof that was made
	known         map[string]*known
	seen          map[string]int64                     // time of the newest proof, by signer and instance
	peers         map[[sha256.Size]byte]*identity.Peer // by chain
	told          map[string]*backoff.Reminder         // problems, by text
	reported      map[string]string                    // problems that persist, by instance
	storage       map[string]struct{}                  // problems of inner, by text
	heard         map[string]struct{}                  // instances, until the first burst has come
	awaited       map[string]struct{}                  // those of them that have not come
	arrived       chan struct{}                        // closed when all have
	clients       directory.Opened                     // nil: nothing has asked for it
}

var _ directory.Opened = (*Directory)(nil)

// withStats is a Directory of one that has Stats.
type withStats struct {
	*Directory
	directory.StatsReporter
}

// Wrap returns a directory in front of another one, which is a directory.StatsReporter if the
// other one is. Close it. The certificates and the policy must stay open until then.
func Wrap(d directory.Directory, cfg Config) directory.Opened {
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	w := &Directory{
		inner: directory.Patient(d), wrapped: d, cfg: cfg, quit: make(chan struct{}), renew: make(chan struct{}, 1), look: make(chan struct{}, 1),
		registrations: make(map[*registration]struct{}), known: make(map[string]*known), seen: make(map[string]int64),
		peers: make(map[[sha256.Size]byte]*identity.Peer), told: make(map[string]*backoff.Reminder),
		reported: make(map[string]string), storage: make(map[string]struct{}),
	}
	w.stopAccess = cfg.Access.Watch(func() {
		kick(w.renew)
		kick(w.look)
	})
	if reporter, ok := d.(directory.StatsReporter); ok {
		return withStats{w, reporter}
	}
	return w
}

func kick(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// every calls f each minute, and when there is a kick, until Close.
func (d *Directory) every(kicked chan struct{}, f func(kicked bool)) {
	ticker := time.NewTicker(lookEvery)
	defer ticker.Stop()
	for {
		select {
		case <-d.quit:
			return
		case <-ticker.C:
			f(false)
		case <-kicked:
			f(true)
		}
	}
}

// Watch reports the entries that count, as directory.Directory says.
//
//   - Errors: directory.ErrClosed, those of the directory that was wrapped.
//   - Blocks: as that one does in Watch and List, and to verify what is there.
func (d *Directory) Watch(notify func(directory.Event)) (stop func(), err error) {
	if err := d.start(); err != nil {
		return nil, err
	}
	return d.feed.Watch(notify)
}

// start begins to watch the directory that was wrapped, and waits for what is in it.
func (d *Directory) start() error {
	d.starting.Lock()
	defer d.starting.Unlock()
	d.mu.Lock()
	if d.closed || d.stopInner != nil {
		defer d.mu.Unlock()
		if d.closed {
			return directory.ErrClosed
		}
		return nil
	}
	d.heard, d.arrived = make(map[string]struct{}), make(chan struct{})
	d.mu.Unlock()
	stop, err := d.inner.Watch(d.take)
	if err != nil {
		return err
	}
	d.mu.Lock()
	if d.closed {
		d.mu.Unlock()
		stop()
		return directory.ErrClosed
	}
	d.stopInner = stop
	d.running.Go(func() { d.every(d.look, d.lookAgain) })
	d.mu.Unlock()
	d.await()
	return nil
}

// await waits until all entries that are there have been judged, for some seconds.
func (d *Directory) await() {
	entries, _ := d.inner.List() // its problems are told by Watch
	d.mu.Lock()
	d.awaited = make(map[string]struct{})
	for _, e := range entries {
		if _, heard := d.heard[e.Instance]; !heard {
			d.awaited[e.Instance] = struct{}{}
		}
	}
	d.heard = nil
	if len(d.awaited) == 0 {
		d.mu.Unlock()
		return
	}
	d.mu.Unlock()
	patience := time.NewTimer(firstLook)
	defer patience.Stop()
	select {
	case <-d.arrived:
	case <-patience.C: // what is late appears later
	case <-d.quit:
	}
}

// List looks once and returns the entries that count, in the order of their instances.
//
//   - Errors: the problems that persist, joined; a *RefusedError for each entry that does not
//     count, or not with all its tags. directory.ErrClosed.
//   - Blocks: as that of the directory that was wrapped, and to verify what is there.
func (d *Directory) List() ([]directory.Entry, error) {
	d.mu.Lock()
	closed := d.closed
	d.mu.Unlock()
	if closed {
		return nil, directory.ErrClosed
	}
	entries, err := d.inner.List()
	if errors.Is(err, directory.ErrClosed) {
		return nil, err
	}
	errs := []error{err}
	shown := entries[:0]
	for _, e := range entries {
		entry, ok, why := d.glance(e)
		if why != nil {
			errs = append(errs, why)
		}
		if ok {
			shown = append(shown, entry)
		}
	}
	return shown, errors.Join(errs...)
}

// Clients returns the directory of the clients of the directory that was wrapped, with
// signatures too; nil if that has none. The policy is not asked about tags of clients: they
// are no claim.
func (d *Directory) Clients() directory.Directory {
	inner := directory.ClientsOf(d.inner)
	if inner == nil {
		return nil
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.clients == nil {
		cfg := d.cfg
		cfg.KeepOpen = true
		d.clients = Wrap(inner, cfg)
		if d.closed {
			_ = d.clients.Close() // of one that has announced nothing
		}
	}
	return d.clients
}

// Close withdraws what was announced, stops all watchers, which are not told Gone, and closes
// the directory that was wrapped, unless Config.KeepOpen is set. Idempotent.
//
//   - Errors: those of withdrawing.
//   - Blocks: for the storage.
func (d *Directory) Close() error {
	d.mu.Lock()
	first := !d.closed
	d.closed = true
	all := d.registrations
	d.registrations = nil
	clients := d.clients
	d.mu.Unlock()
	var errs []error
	if clients != nil {
		errs = append(errs, clients.Close())
	}
	if first {
		d.stopAccess()
		close(d.quit)
	}
	d.feed.Close()
	if first {
		d.running.Wait()
		if d.stopInner != nil {
			d.stopInner()
		}
		for r := range all {
			errs = append(errs, r.inner.Withdraw())
		}
	}
	if opened, ok := d.wrapped.(directory.Opened); ok && !d.cfg.KeepOpen {
		errs = append(errs, opened.Close())
	}
	return errors.Join(errs...)
}
