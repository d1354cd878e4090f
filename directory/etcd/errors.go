// SPDX-License-Identifier: Apache-2.0

package etcd

import (
	"errors"

	"tagbus/bus/directory"
	"tagbus/internal/sanitize"
)

// Sentinels, found with errors.Is.
var (
	// ErrConfig is returned by Open and Config.Validate, once for each violation, and by
	// OpenURL for a file that cannot be used.
	ErrConfig = errors.New("directory/etcd: invalid configuration")

	// ErrAway is reported while the servers do not answer, have no leader, or are slower than an entry
	// lasts. What is known stays known, and it is tried again.
	ErrAway = errors.New("directory/etcd: the servers do not answer")

	// ErrRefused is returned and reported when the servers answer and refuse: user,
	// password, or permission are wrong, or their database is full.
	ErrRefused = errors.New("directory/etcd: the servers refuse")

	// ErrTooLarge is matched by every *TooLargeError.
	ErrTooLarge = errors.New("directory/etcd: entry too large")

	// ErrSeveral is reported when the servers of a Config are of several clusters: each has
	// entries of its own.
	ErrSeveral = errors.New("directory/etcd: the servers are of several clusters")

	// ErrDamaged is reported for a key below the prefix whose name or value is no entry.
	ErrDamaged = errors.New("directory/etcd: not an entry")

	// ErrTooMany is reported when the servers have more entries than are kept: some are not
	// found. It matches directory.ErrCrowded.
	ErrTooMany error = tooMany{}
)

// tooMany is the type of ErrTooMany.
type tooMany struct{}

func (tooMany) Error() string        { return "directory/etcd: too many entries" }
func (tooMany) Is(target error) bool { return target == directory.ErrCrowded }

// TooLargeError reports an entry whose bytes the servers would not take. Announce and
// Update return it before anything is sent. It matches ErrTooLarge.
type TooLargeError struct {
	Instance string // of the entry
	Bytes    int    // of the entry, as package codec writes it; 0: it does not
	Limit    int    // bytes
	Err      error  // why package codec does not write it: codec.ErrTooLarge, wrapped; nil: it does
}

// Error names the entry, its size and what to do.
func (e *TooLargeError) Error() string {
	if e.Err != nil {
		return sanitize.Linef("%v: %s: %v", ErrTooLarge, sanitize.Text(e.Instance), e.Err)
	}
	return sanitize.Linef("%v: %s takes %d bytes, at most %d: announce fewer tags, or tags in ranges, or several publishers",
		ErrTooLarge, sanitize.Text(e.Instance), e.Bytes, e.Limit)
}

// Unwrap returns Err.
func (e *TooLargeError) Unwrap() error { return e.Err }

// Is reports whether target is ErrTooLarge.
func (*TooLargeError) Is(target error) bool { return target == ErrTooLarge }
