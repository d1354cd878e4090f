// SPDX-License-Identifier: Apache-2.0

// Package announce keeps the entry of an instance in the directory true, from the start of
// the instance until its end: where it is reached, which tags it has, and what is wrong with
// the entry.
package announce

import (
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"tagbus/bus/directory"
	"tagbus/bus/internal/advertise"
	"tagbus/bus/internal/hostaddr"
	"tagbus/tags"
)

// Entry is the entry of an instance that listens. The zero value is in no directory.
//
// Threads: any, for all methods.
type Entry struct {
	instance Instance
	place    atomic.Pointer[advertise.Place] // in the directory; nil before
	unfollow func()                          // the addresses of the host; nil before
	withdrawal

	mu         sync.Mutex // around changes, which wait for the directory
	registered directory.Registration
	wanted     directory.Entry // what the directory has, or tries by itself to have
}

// Instance is the side that has the entry.
type Instance struct {
	Reach   advertise.Reach
	Host    hostaddr.Host
	Trouble *Trouble   // where what is wrong with the entry is noted
	Tell    func(News) // called in any goroutine; it must not block
}

// Start announces an entry, and follows the addresses of the host from then on. It is called once.
//
//   - e: without what follows from in.Reach.
//   - Errors: those of the directory, and of the system if it does not say which addresses
//     the host has. Nothing is announced then.
//   - Blocks: for the directory's storage.
func (e *Entry) Start(dir directory.Directory, in Instance, entry directory.Entry) error {
	at, err := PlaceOf(in.Host, in.Reach)
	if err != nil {
		return err
	}
	e.instance, e.wanted = in, entry
	move(&e.wanted, at)
	e.place.Store(&at)
	if e.registered, err = directory.Patient(dir).Announce(e.wanted); err != nil {
		return err
	}
	in.Trouble.report(e.registered, in.Tell)
	e.tell(at, nil)
	follows, watches := Follow(in.Host, in.Reach, at, e.move), watch(in.Host, in.Reach, in.Tell)
	e.unfollow = func() { follows(); watches() }
	return nil
}

// Place returns where the directory says that the instance is reached; nil: nowhere.
func (e *Entry) Place() *advertise.Place { return e.place.Load() }

// Extend announces more tags. An entry that cannot be changed now is not changed later either.
//
//   - set: all tags.
//   - Errors: directory.ErrWithdrawn; those of the directory.
//   - Blocks: for the directory's storage.
func (e *Entry) Extend(set tags.Set) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	before := e.wanted
	e.wanted.Tags, e.wanted.Since = set, time.Now()
	err := e.update()
	if err == nil || errors.Is(err, directory.ErrWithdrawn) {
		return err
	}
	e.wanted = before
	return errors.Join(err, e.update()) // the directory must not show it later by itself
}

// Reduce announces fewer tags. An entry that cannot be changed now is changed later.
//
//   - left: all tags.
//   - Errors: directory.ErrWithdrawn; those of the directory.
//   - Blocks: for the directory's storage.
func (e *Entry) Reduce(left tags.Set) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.wanted.Tags = left
	return e.update()
}

// move announces another place. If the directory cannot show it now it does so later.
//
// Errors: directory.ErrWithdrawn; those of the directory.
func (e *Entry) move(at advertise.Place) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	move(&e.wanted, at)
	if err := e.update(); err != nil {
		return err
	}
	e.tell(at, e.place.Swap(&at))
	return nil
}

// move puts a place into an entry.
func move(e *directory.Entry, at advertise.Place) {
	e.Addresses, e.Ways, e.Monitor = at.Addresses, at.Ways, at.Monitor
}

// update changes the entry in the directory to what is wanted. mu is held.
func (e *Entry) update() error {
	if e.begun() {
		return directory.ErrWithdrawn
	}
	return e.registered.Update(e.wanted)
}

// Withdraw begins to take the entry out of the directory, once. Wait waits until it is out.
func (e *Entry) Withdraw() {
	if e.registered == nil {
		return
	}
	if e.unfollow != nil {
		e.unfollow()
	}
	e.begin(e.registered, e.instance.Trouble)
}
