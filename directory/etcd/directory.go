// SPDX-License-Identifier: Apache-2.0

package etcd

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"tagbus/bus/directory"
)

// Directory is a directory.Directory on servers of etcd. Open makes one; it must not be
// copied, and must be closed.
//
// It has up to three goroutines of its own: one writes what is announced here, one renews
// the lease, and one follows what others announce while anything is watched. None waits
// for a notify function. It is a directory.StatsReporter, and its Registrations are
// directory.Reporters.
//
// Threads: any, for all methods.
type Directory struct {
	config  Config
	servers *servers
	feed    directory.Feed
	look    looker

	ctx     context.Context // ends with the first Close
	cancel  context.CancelFunc
	running sync.WaitGroup
	several atomic.Bool   // the servers are of several clusters, whose revisions have nothing in common
	dirty   chan struct{} // there is something to write
	leased  chan struct{} // there is a new lease
	settled chan struct{} // closed when the first Close has withdrawn all
	around  *Directory    // whose clients these are; nil: it is no directory of clients

	countEach time.Duration // how often entries are counted, at most

	mu            sync.Mutex
	full          error // there are more entries than the shelf has room for; nil: there are not, or nothing is watched
	many          error // there are more than are followed, as counted; nil: there are not
	closed        bool
	keeping       bool
	registrations map[string]*registration // by instance; those that are withdrawn, too, until the servers know
	lease         lease
	clients       *Directory // nil: nothing has asked for it
	closeErr      error
}

var (
	_ directory.Opened        = (*Directory)(nil)
	_ directory.WithClients   = (*Directory)(nil)
	_ directory.StatsReporter = (*Directory)(nil)
	_ directory.Reporter      = (*registration)(nil)
)

// Open returns the directory that config names. It does not wait for the servers: they
// may be away.
//
//   - Errors: those of Config.Validate.
//   - Threads: any. Blocks: never.
func Open(config Config) (*Directory, error) {
	if err := config.Validate(); err != nil {
		return nil, err
	}
	config = config.withDefaults()
	config.Endpoints = slices.Clone(config.Endpoints)
	servers, err := connect(config)
	if err != nil {
		return nil, err
	}
	return newDirectory(config, servers), nil
}

// newDirectory returns a directory on servers. config has its defaults.
func newDirectory(config Config, servers *servers) *Directory {
	d := &Directory{
		config: config, servers: servers,
		dirty: make(chan struct{}, 1), leased: make(chan struct{}, 1), settled: make(chan struct{}),
		registrations: make(map[string]*registration), countEach: countEach,
	}
	d.ctx, d.cancel = context.WithCancel(context.Background())
	d.look.init(d)
	return d
}

// The keys. Those of the clients stand behind all that watchers read: what they read ends at
// end.
func (d *Directory) entriesPrefix() string        { return d.config.Prefix + "e/" }
func (d *Directory) end() string                  { return d.config.Prefix + clientsKey }
func (d *Directory) keyOf(instance string) string { return d.entriesPrefix() + instance }
func (d *Directory) noteKey() string              { return d.config.Prefix + "withdrawn" }
func (d *Directory) epochKey() string             { return d.config.Prefix + "begun" } // a list has it before the entries

// Announce adds e, and keeps it alive. If the servers are away for
// Config.AnnounceTimeout it returns without an error: the entry is announced when they are
// back, and the Registration has a problem meanwhile.
//
//   - Errors: *directory.FieldError joined, directory.ErrAnnounced, directory.ErrClosed,
//     *TooLargeError; *ServerError with ErrRefused for a wrong user, password or
//     permission.
//   - Blocks: for the servers, at most Config.AnnounceTimeout.
func (d *Directory) Announce(e directory.Entry) (directory.Registration, error) {
	if err := e.Validate(); err != nil {
		return nil, err
	}
	value, err := encode(e)
	if err != nil {
		return nil, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return nil, directory.ErrClosed
	}
	if old := d.registrations[e.Instance]; old != nil {
		if !old.withdrawn {
			return nil, directory.ErrAnnounced
		}
		old.removed = true // the new entry replaces it
	}
	r := &registration{d: d, instance: e.Instance, value: value, version: 1}
	d.registrations[e.Instance] = r
	if !d.keeping {
		d.keeping = true
		d.running.Go(d.keep)
		d.running.Go(d.stayAlive)
		d.running.Go(d.stayThere)
	}
	final := func(err error) bool { return errors.Is(err, directory.ErrAnnounced) || isFinal(err) }
	switch err = d.await(r, d.config.AnnounceTimeout, final); {
	case err == nil:
		return r, nil
	case d.closed || final(err):
		r.withdrawn, r.removed = true, true
		if d.registrations[r.instance] == r {
			delete(d.registrations, r.instance)
		}
		if d.closed {
			err = directory.ErrClosed
		}
		return nil, err
	}
	r.known = true
	if r.err == nil {
		r.err = err
	}
	d.tell(r)
	return r, nil
}

// Watch reports the entries that are there and all that follows, as directory.Directory
// says.
//
//   - Errors: directory.ErrClosed. Servers that are away are no error but a Problem.
//   - Blocks: for the first look at the servers, at most Config.AnnounceTimeout.
func (d *Directory) Watch(notify func(directory.Event)) (stop func(), err error) {
	if err := d.look.start(); err != nil {
		return nil, err
	}
	return d.feed.Watch(notify)
}

// List asks the servers and returns the entries in the order of their instances. While the
// servers are away it returns what is known of them.
//
//   - Errors: the problems that persist, joined: *ServerError, and ErrDamaged or
//     ErrTooMany, wrapped, for keys below the prefix. directory.ErrClosed.
//   - Blocks: for the servers, at most Config.AnnounceTimeout and twice
//     Config.RequestTimeout.
func (d *Directory) List() ([]directory.Entry, error) {
	if err := d.look.start(); err != nil {
		return nil, err
	}
	late := d.look.catchUp()
	entries, err := d.feed.List()
	if err == nil {
		err = late
	}
	return entries, err
}

// Stats returns what the directory knows, and how it gets on with the servers. Blocks:
// never.
func (d *Directory) Stats() directory.Stats {
	s := d.servers.counts.stats()
	s.Entries, s.Problems = d.feed.Sizes()
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, r := range d.registrations {
		if !r.withdrawn {
			s.Registrations++
		}
	}
	return s
}

// Close withdraws what is announced, and stops all goroutines and watchers, which are not
// told Gone. It returns when no notify function runs; called from within one it returns at
// once as far as notify functions go. Idempotent.
//
//   - Errors: *ServerError if entries could not be withdrawn: they end with the lease,
//     within Config.Expiry. The same at each call.
//   - Blocks: for the servers, at most twice Config.RequestTimeout.
func (d *Directory) Close() error {
	d.mu.Lock()
	first := !d.closed
	d.closed = true
	d.mu.Unlock()
	if first {
		d.cancel()
		d.running.Wait()
		d.feed.Close()
		d.closeClients()
		d.closeErr = d.leave()
		if d.around == nil {
			d.closeErr = errors.Join(d.closeErr, d.servers.close())
		}
		close(d.settled)
	}
	d.feed.Close()
	<-d.settled
	return d.closeErr
}

// leave withdraws what is announced and ends the lease. The goroutines have ended.
func (d *Directory) leave() error {
	d.mu.Lock()
	var instances []string
	for _, r := range d.registrations {
		r.withdrawn = true
		r.End()
		instances = append(instances, r.instance)
		if r.tried != nil {
			close(r.tried)
			r.tried = nil
		}
	}
	id := d.lease.id
	d.mu.Unlock()
	if id == 0 {
		return nil // the servers have nothing
	}
	ctx, cancel := context.WithTimeout(context.Background(), 2*d.config.RequestTimeout)
	defer cancel()
	slices.Sort(instances)
	for part := range slices.Chunk(instances, maxTxn) {
		if err := d.remove(ctx, part); err != nil {
			_ = d.endLease(ctx, id) // it says the same
			return err
		}
	}
	return d.endLease(ctx, id)
}

// endLease revokes the lease, unless time is up.
func (d *Directory) endLease(ctx context.Context, id clientv3.LeaseID) error {
	if deadline, ok := ctx.Deadline(); ok && time.Until(deadline) <= 0 {
		return ctx.Err()
	}
	return d.revoke(ctx, id)
}
