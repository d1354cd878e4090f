// SPDX-License-Identifier: Apache-2.0

package directory

import (
	"errors"
	"fmt"
	"sync"
	"time"
)

// Patience is how long a Directory of Patient waits for the storage. Directories that give up
// by themselves do so before.
const Patience = 5 * time.Second

// retryLate is when an Announce or a Watch that was given up, and failed then, is made again.
const retryLate = 10 * time.Second

// ErrSilent is what a Directory of Patient returns and reports when the storage does not
// answer for Patience.
var ErrSilent = fmt.Errorf("directory: the storage does not answer for %v: look after it; it goes on by itself", Patience)

// Patient returns a Directory in front of d, all of whose methods return after Patience: of
// a Directory that breaks its promise to block for a bounded time only, whatever uses it
// could not be closed. What is given up goes on, one call at a time for each registration,
// each watch, and all looks together.
//
//   - Announce returns nil then. The entry is announced once the storage answers, and takes it:
//     if it fails it is tried again. The Registration is a Reporter, and has the problem until
//     then.
//   - Watch returns nil and reports a Problem, and what it finds when the storage answers. If
//     it fails it is tried again. stop does not wait for longer than Patience either.
//   - List, Update and Withdraw return ErrSilent. What they were to change is changed once
//     the storage answers.
//
// A d that is of Patient is returned as it is.
func Patient(d Directory) Directory {
	if p, ok := d.(*patient); ok {
		return p
	}
	return &patient{inner: d, looking: newTurnstile()}
}

// patient is the Directory of Patient.
type patient struct {
	inner   Directory
	looking *turnstile
}

func nothing() {}

// Clients implements WithClients: the clients are behind the same storage.
func (p *patient) Clients() Directory {
	clients := ClientsOf(p.inner)
	if clients == nil {
		return nil
	}
	return Patient(clients)
}

// List implements Directory.
func (p *patient) List() (entries []Entry, err error) {
	type found struct {
		entries []Entry
		err     error
	}
	var f found
	if err := p.looking.pass(func() { f.entries, f.err = p.inner.List() }, nothing, nothing); err != nil {
		return nil, err
	}
	return f.entries, f.err
}

// Announce implements Directory.
func (p *patient) Announce(e Entry) (Registration, error) {
	if err := e.Validate(); err != nil {
		return nil, err
	}
	r := &patientRegistration{dir: p.inner, calls: newTurnstile(), wanted: e.Clone(), changed: true}
	if err := r.settle(); err != nil && !errors.Is(err, ErrSilent) {
		return nil, err
	}
	return r, nil
}

// patientRegistration is an entry that is announced, changed and withdrawn when the storage
// answers.
type patientRegistration struct {
	Reports
	dir   Directory
	calls *turnstile

	// Within calls only.
	inner  Registration // nil: not announced yet
	failed error        // of the last call, which may have been that of another Update

	mu        sync.Mutex
	wanted    Entry
	changed   bool // wanted is to be written
	withdrawn bool
	announced bool        // inner is not nil
	troubled  bool        // a problem of this side was told
	retry     *time.Timer // of an Announce; nil: none has failed late
}

// settle makes the storage have what is wanted.
//
//   - Errors: the storage's; ErrSilent, which is reported, too.
func (r *patientRegistration) settle() error {
	var err error
	work := func() { err = r.work() }
	// What is wanted may have changed while nothing was waited for: an entry that was
	// withdrawn meanwhile goes also if the change before has failed.
	silent := r.calls.pass(work, r.gaveUp, func() {
		for r.isDue() {
			work()
		}
		r.tell(err)
		r.later(err)
	})
	if silent != nil {
		return silent
	}
	return err
}

// gaveUp tells that a call is not waited for any more.
func (r *patientRegistration) gaveUp() {
	r.mu.Lock()
	r.troubled = true
	r.mu.Unlock()
	r.Tell(ErrSilent)
}

// isDue reports whether something is to be written.
func (r *patientRegistration) isDue() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.changed
}

// work writes what is wanted. Within calls only.
func (r *patientRegistration) work() (err error) {
	defer func() { r.failed = err }()
	r.mu.Lock()
	wanted, withdrawn, changed := r.wanted, r.withdrawn, r.changed
	r.changed = false
	r.mu.Unlock()
	switch {
	case withdrawn && r.inner == nil:
		return nil
	case withdrawn:
		return r.inner.Withdraw()
	case !changed:
		return r.failed
	case r.inner != nil:
		if err = r.inner.Update(wanted); err == nil {
			r.tell(nil)
		}
		return err
	}
	if r.inner, err = r.dir.Announce(wanted); err != nil {
		r.inner = nil // an interface that is not nil may be of nothing
		return err
	}
	r.mu.Lock()
	r.announced = true
	r.mu.Unlock()
	r.tell(nil)
	r.listen()
	return nil
}

// tell tells what has become of a call. What the inner directory has told stays a problem when
// the storage answers. Within calls only.
func (r *patientRegistration) tell(err error) {
	r.mu.Lock()
	had := r.troubled
	r.troubled = err != nil
	r.mu.Unlock()
	if err != nil || had {
		r.Tell(err)
		r.listen()
	}
}

// listen makes the inner directory tell its problem, also one that there is already. Within
// calls only.
func (r *patientRegistration) listen() {
	if reporter, ok := r.inner.(Reporter); ok {
		reporter.OnProblem(r.Tell)
	}
}

// later makes an Announce that has failed again, after a while.
//
//   - err: of the last call.
func (r *patientRegistration) later(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case err == nil, r.announced, r.withdrawn, errors.Is(err, ErrSilent), errors.Is(err, ErrClosed):
	case r.retry == nil:
		r.retry = time.AfterFunc(retryLate, r.again)
	default:
		r.retry.Reset(retryLate)
	}
}

// again is what the timer of later runs.
func (r *patientRegistration) again() {
	r.mu.Lock()
	due := !r.announced && !r.withdrawn
	r.changed = r.changed || due
	r.mu.Unlock()
	if due {
		r.later(r.settle())
	}
}

// Update implements Registration.
func (r *patientRegistration) Update(e Entry) error {
	r.mu.Lock()
	if err := ValidateUpdate(r.wanted.Instance, e); err != nil {
		r.mu.Unlock()
		return err
	}
	if r.withdrawn {
		r.mu.Unlock()
		return ErrWithdrawn
	}
	r.wanted, r.changed = e.Clone(), true
	r.mu.Unlock()
	err := r.settle()
	r.later(err)
	return err
}

// Withdraw implements Registration.
func (r *patientRegistration) Withdraw() error {
	r.mu.Lock()
	r.withdrawn, r.changed = true, true
	if r.retry != nil {
		r.retry.Stop()
	}
	r.mu.Unlock()
	r.End()
	return r.settle()
}
