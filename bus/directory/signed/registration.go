// SPDX-License-Identifier: Apache-2.0

package signed

import (
	"bytes"
	"crypto/tls"
	"slices"
	"sync"
	"time"

	"tagbus/bus/directory"
)

// registration is an announced entry.
type registration struct {
	directory *Directory
	inner     directory.Registration

	mu     sync.Mutex      // held while the storage is changed
	entry  directory.Entry // as it was announced, without a proof
	proven directory.Entry // with it
	made   time.Time
	with   [][]byte // certificates
}

// reporting is a registration of a storage that has problems to report.
type reporting struct {
	*registration
	directory.Reporter
}

// Announce signs e and adds it. An entry that a mirror has copied keeps its proof, and is not
// signed.
//
//   - Errors: those of the directory that was wrapped; ErrNoRoom, ErrKey, wrapped; those of
//     the key.
//   - Blocks: for the storage.
func (d *Directory) Announce(e directory.Entry) (directory.Registration, error) {
	e.Signer = ""
	if err := e.Validate(); err != nil { // before it is signed
		return nil, err
	}
	r := &registration{directory: d, entry: e.Clone()}
	r.mu.Lock() // until it can be renewed
	defer r.mu.Unlock()
	d.mu.Lock()
	closed := d.closed
	d.mu.Unlock()
	if closed {
		return nil, directory.ErrClosed
	}
	if err := r.sign(); err != nil {
		return nil, err
	}
	inner, err := d.inner.Announce(r.proven)
	if err != nil {
		return nil, err
	}
	r.inner = inner
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed { // and what was announced is not withdrawn by Close any more
		_ = inner.Withdraw()
		return nil, directory.ErrClosed
	}
	d.registrations[r] = struct{}{}
	if !d.renewing {
		d.renewing = true
		d.running.Go(func() { d.every(d.renew, func(bool) { d.renewAll() }) })
	}
	if reporter, ok := inner.(directory.Reporter); ok {
		return reporting{r, reporter}, nil
	}
	return r, nil
}

// sign makes the proof of the entry. The lock is held.
func (r *registration) sign() error {
	if r.entry.Mirror != "" {
		r.proven = r.entry
		return nil
	}
	d := r.directory
	now := d.now()
	d.mu.Lock()
	d.serial++
	if nanos := now.UnixNano(); d.serial < nanos || d.serial > nanos+int64(MaxSkew) { // or the clock was ahead, and readers refuse that
		d.serial = nanos
	}
	serial := d.serial
	d.mu.Unlock()
	pair := d.cfg.Identity.KeyPair()
	proven := r.entry
	if err := sign(&proven, pair, serial); err != nil {
		return err
	}
	r.proven, r.made, r.with = proven, now, pair.Certificate
	return nil
}

// Update signs e and replaces the entry, as directory.Registration says.
//
//   - Errors: as there; ErrNoRoom, ErrKey, wrapped; those of the key.
func (r *registration) Update(e directory.Entry) error {
	e.Signer = ""
	r.mu.Lock()
	defer r.mu.Unlock()
	d := r.directory
	if err := directory.ValidateUpdate(r.entry.Instance, e); err != nil {
		return err
	}
	d.mu.Lock()
	closed := d.closed
	d.mu.Unlock()
	if closed {
		return directory.ErrClosed
	}
	if !e.Equal(r.entry) || r.due(d.now(), d.cfg.Identity.KeyPair()) {
		before := r.entry
		r.entry = e.Clone()
		if err := r.sign(); err != nil {
			r.entry = before
			return err
		}
	}
	return r.inner.Update(r.proven)
}

// now returns the time of the wall clock alone. Monotonic readings do not show that it was set
// right, or that the host was suspended, of which readers of a proof know nothing.
func (d *Directory) now() time.Time { return d.cfg.Now().Round(0) }

// due reports whether the proof is to be made again. The lock is held.
func (r *registration) due(now time.Time, pair *tls.Certificate) bool {
	age := now.Sub(r.made)
	return r.entry.Mirror == "" && (age >= RenewAfter || age < -MaxSkew || !slices.EqualFunc(r.with, pair.Certificate, bytes.Equal))
}

// Withdraw removes the entry, as directory.Registration says.
func (r *registration) Withdraw() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	d := r.directory
	d.mu.Lock()
	delete(d.registrations, r)
	d.mu.Unlock()
	return r.inner.Withdraw()
}

// renewAll signs again what is due.
func (d *Directory) renewAll() {
	d.mu.Lock()
	all := make([]*registration, 0, len(d.registrations))
	for r := range d.registrations {
		all = append(all, r)
	}
	d.mu.Unlock()
	for _, r := range all {
		r.renewIfDue()
	}
}

// renewIfDue signs the entry again. What the storage does not take it tries again by itself; a
// key that cannot sign is tried again a minute later.
func (r *registration) renewIfDue() {
	r.mu.Lock()
	defer r.mu.Unlock()
	d := r.directory
	if !r.due(d.now(), d.cfg.Identity.KeyPair()) || r.sign() != nil {
		return
	}
	d.mu.Lock()
	_, announced := d.registrations[r]
	d.mu.Unlock()
	if announced {
		_ = r.inner.Update(r.proven)
	}
}
