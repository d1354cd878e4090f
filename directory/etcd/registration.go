// SPDX-License-Identifier: Apache-2.0

package etcd

import (
	"context"
	"errors"
	"time"

	"tagbus/bus/directory"
	"tagbus/bus/directory/codec"
)

// maxEntryBytes is how large an entry may be. The servers take requests of 1.5 MiB unless
// they are told otherwise.
const maxEntryBytes = 1 << 20

// encode returns the bytes of e.
//
//   - Errors: *TooLargeError.
func encode(e directory.Entry) ([]byte, error) {
	value, err := codec.Append(nil, e)
	switch {
	case errors.Is(err, codec.ErrTooLarge):
		return nil, &TooLargeError{Instance: e.Instance, Limit: maxEntryBytes, Err: err}
	case err != nil:
		return nil, err
	case len(value) > maxEntryBytes:
		return nil, &TooLargeError{Instance: e.Instance, Bytes: len(value), Limit: maxEntryBytes}
	}
	return value, nil
}

// registration is one announced entry. Its fields are those of the Directory's lock.
type registration struct {
	directory.Reports
	d        *Directory
	instance string

	value     []byte        // what the servers should have
	version   uint64        // of value, from 1
	written   uint64        // version that the servers have; 0: none, or it is unknown
	revision  int64         // of the key when it was written
	known     bool          // the servers had it once, or the announcer was told that they will
	withdrawn bool          // by its owner: the servers should have nothing
	removed   bool          // the servers have nothing, and nothing is left to do
	err       error         // why the last try failed; nil: it did not, or there was none
	failing   bool          // the last try failed
	retry     time.Time     // not before then
	tried     chan struct{} // closed after the next try
}

// settled reports whether nothing is left to do.
func (r *registration) settled() bool {
	if r.withdrawn {
		return r.removed
	}
	return r.written == r.version
}

// Update replaces the entry, as directory.Registration says.
//
//   - Errors: also *TooLargeError, *ServerError.
//   - Blocks: for the servers, at most Config.RequestTimeout.
func (r *registration) Update(e directory.Entry) error {
	if err := directory.ValidateUpdate(r.instance, e); err != nil {
		return err
	}
	value, err := encode(e)
	if err != nil {
		return err
	}
	d := r.d
	d.mu.Lock()
	defer d.mu.Unlock()
	switch {
	case d.closed:
		return directory.ErrClosed
	case r.withdrawn:
		return directory.ErrWithdrawn
	}
	if string(value) != string(r.value) {
		r.value = value
		r.version++
		r.retry = time.Time{}
	}
	err = d.await(r, d.config.RequestTimeout, func(error) bool { return true })
	switch {
	case r.withdrawn && d.closed:
		return directory.ErrClosed
	case r.withdrawn:
		return directory.ErrWithdrawn
	}
	return err
}

// Withdraw removes the entry, as directory.Registration says. It tries again while the servers
// are away, since they may just start. After an error that goes on in the background while
// the Directory is open.
//
//   - Errors: *ServerError.
//   - Blocks: for the servers, at most Config.RequestTimeout.
func (r *registration) Withdraw() error {
	d := r.d
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed || r.removed {
		return nil
	}
	r.withdrawn = true
	r.retry = time.Time{}
	r.End()
	return d.await(r, d.config.RequestTimeout, func(err error) bool { return !errors.Is(err, ErrAway) })
}

// await returns when r is settled, and why it is not if that takes too long. The lock is
// held, and released meanwhile.
//
//   - final: reports whether to wait no longer when a try fails with an error.
func (d *Directory) await(r *registration, patience time.Duration, final func(error) bool) error {
	ctx, cancel := context.WithTimeout(d.ctx, patience)
	defer cancel()
	for first := true; !r.settled(); first = false {
		if !first && r.failing && final(r.err) {
			return r.err
		}
		if r.tried == nil {
			r.tried = make(chan struct{})
		}
		tried := r.tried
		d.wake()
		d.mu.Unlock()
		var ended bool
		select {
		case <-tried:
		case <-ctx.Done():
			ended = true
		}
		d.mu.Lock()
		switch {
		case r.settled():
		case d.closed:
			return directory.ErrClosed
		case ended && r.failing:
			return r.err
		case ended:
			return d.servers.explain(context.Background(), context.DeadlineExceeded)
		}
	}
	return nil
}
