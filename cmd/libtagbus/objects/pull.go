// SPDX-License-Identifier: Apache-2.0

package objects

import (
	"errors"
	"io"

	"golang.org/x/sys/unix"

	"tagbus/bus"
)

// Next takes the next batch.
//
// Errors: *Error with Empty, if there is none now; with End, when all was delivered; those of
// bus.Subscription.TakeBatch.
func (s *Subscription) Next() (bus.Batch, error) {
	b, err := s.sub.TakeBatch()
	if errors.Is(err, bus.ErrNoBatch) {
		b, err = s.cleared()
	}
	switch {
	case errors.Is(err, bus.ErrNoBatch):
		return b, errEmpty
	case errors.Is(err, io.EOF):
		return b, errEnd
	case errors.Is(err, bus.ErrRetainLimit):
		return b, &Error{Limit, "tagbus_next: as much is held as --retain-bytes allows: release batches, or raise it"}
	}
	return b, err
}

var (
	errEmpty = &Error{Empty, ""}
	errEnd   = &Error{End, "tagbus_next: the subscription has ended, and all of it was delivered"}
)

// cleared makes the file descriptor unreadable, and takes what came meanwhile.
func (s *Subscription) cleared() (bus.Batch, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.fd < 0 {
		return bus.Batch{}, bus.ErrNoBatch
	}
	var count [8]byte
	_, _ = unix.Read(s.fd, count[:]) // it is readable, or not
	b, err := s.sub.TakeBatch()
	if !errors.Is(err, bus.ErrNoBatch) {
		s.signal()
	}
	return b, err
}

// FD returns the file descriptor that is readable while there is something to take.
func (s *Subscription) FD() (int, error) {
	if s.bell == 0 {
		return 0, invalid("tagbus_subscription_fd: subscription delivers to on_batch: subscribe with NULL")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.released:
		return 0, &Error{Closed, "subscription is closed"}
	case s.fd >= 0:
		return s.fd, nil
	}
	fd, err := unix.Eventfd(1, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK) // readable: something may be there
	if err != nil {
		return 0, &Error{System, "tagbus_subscription_fd: eventfd: " + err.Error()}
	}
	s.fd = fd
	return fd, nil
}
