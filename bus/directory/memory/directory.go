// SPDX-License-Identifier: Apache-2.0

// Package memory is a directory within one process: for programs that have
// their publishers and subscribers together, and for tests.
//
// It uses no clock, no files and no background goroutine but one per watcher,
// so it runs under testing/synctest: what was announced has reached every
// notify function when synctest.Wait returns. Events are queued by the call
// that causes them, before it returns, so their order is the order of the calls.
//
// Imports: the standard library and bus/directory.
package memory

import (
	"sync"

	"tagbus/bus/directory"
)

// Directory is a directory.Directory in memory. The zero value is empty and
// ready; it must not be copied. All users of one *Directory see the same entries.
//
// Threads: any, for all methods.
type Directory struct {
	feed directory.Feed

	mu        sync.Mutex // held around changes of the feed too, so that both have one order
	closed    bool
	announced map[string]*registration
	clients   *Directory // nil: nothing has asked for it
}

var (
	_ directory.Directory   = (*Directory)(nil)
	_ directory.WithClients = (*Directory)(nil)
)

// New returns an empty directory.
func New() *Directory { return &Directory{} }

// Announce adds e.
//
//   - Errors: *directory.FieldError joined, directory.ErrAnnounced,
//     directory.ErrClosed.
//   - Blocks: never.
func (d *Directory) Announce(e directory.Entry) (directory.Registration, error) {
	if err := e.Validate(); err != nil {
		return nil, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return nil, directory.ErrClosed
	}
	if d.announced[e.Instance] != nil {
		return nil, directory.ErrAnnounced
	}
	r := &registration{directory: d, instance: e.Instance}
	if d.announced == nil {
		d.announced = make(map[string]*registration)
	}
	d.announced[e.Instance] = r
	d.feed.Put(e.Clone())
	return r, nil
}

// Watch reports the entries that are there and all that follows, as
// directory.Directory says.
//
//   - Errors: directory.ErrClosed.
//   - Blocks: Watch never; stop for a running notify.
func (d *Directory) Watch(notify func(directory.Event)) (stop func(), err error) {
	return d.feed.Watch(notify)
}

// List returns the entries in the order of their instances, and the problems
// set by Report, joined.
//
//   - Errors: directory.ErrClosed, what was reported.
//   - Blocks: never.
func (d *Directory) List() ([]directory.Entry, error) { return d.feed.List() }

// Clients returns the directory of the clients, as directory.WithClients says.
func (d *Directory) Clients() directory.Directory {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.clients == nil {
		d.clients = New()
		d.clients.closed = d.closed
	}
	return d.clients
}

// Expire takes an entry away as if its publisher had been killed: watchers are
// told Gone with why. The publisher's next Update brings it back, as a beat does
// in a real directory. Without such an entry it does nothing.
//
//   - why: directory.ErrExpired or directory.ErrDead.
func (d *Directory) Expire(instance string, why error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.feed.Remove(instance, why)
}

// Report sets the problem of source, as if the storage had failed; nil ends it.
// Feed.Report says what watchers see.
func (d *Directory) Report(source string, err error) { d.feed.Report(source, err) }

// Fail sets why the entry of instance cannot be kept alive, as if the storage refused
// its announcer; nil ends it. Watchers still see the entry: Expire takes it away.
func (d *Directory) Fail(instance string, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if r := d.announced[instance]; r != nil {
		r.Tell(err)
	}
}

// Close forgets all entries and stops all watchers, which are not told Gone. It
// returns when no notify function runs; called from within one it returns at
// once. Idempotent; the error is always nil.
func (d *Directory) Close() error {
	d.mu.Lock()
	d.closed = true
	d.announced = nil
	clients := d.clients
	d.mu.Unlock()
	d.feed.Close()
	if clients != nil {
		_ = clients.Close()
	}
	return nil
}

// registration is one announced entry.
type registration struct {
	directory.Reports
	directory *Directory
	instance  string
}

// Update replaces the entry, as directory.Registration says. Blocks: never.
func (r *registration) Update(e directory.Entry) error {
	if err := directory.ValidateUpdate(r.instance, e); err != nil {
		return err
	}
	d := r.directory
	d.mu.Lock()
	defer d.mu.Unlock()
	switch {
	case d.closed:
		return directory.ErrClosed
	case d.announced[r.instance] != r:
		return directory.ErrWithdrawn
	}
	d.feed.Put(e.Clone())
	return nil
}

// Withdraw removes the entry. Idempotent; the error is always nil. Blocks: never.
func (r *registration) Withdraw() error {
	d := r.directory
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.announced[r.instance] != r {
		return nil
	}
	delete(d.announced, r.instance)
	r.End()
	d.feed.Remove(r.instance, nil)
	return nil
}
