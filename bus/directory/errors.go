// SPDX-License-Identifier: Apache-2.0

package directory

import (
	"errors"

	"tagbus/internal/sanitize"
)

// Sentinels, found with errors.Is.
var (
	// ErrClosed is returned by every method of a Directory that was closed, and
	// by the methods of its registrations. Open it again.
	ErrClosed = errors.New("directory: closed")

	// ErrWithdrawn is returned by Registration.Update after Withdraw. Announce a
	// new entry, with a new instance.
	ErrWithdrawn = errors.New("directory: registration withdrawn")

	// ErrAnnounced is returned by Directory.Announce when an entry with the same
	// instance is announced and not withdrawn. Give each publisher its own
	// instance, or update the registration.
	ErrAnnounced = errors.New("directory: instance already announced")

	// ErrCrowded is matched by a problem of a Directory that has more entries than it
	// follows: some are not found. It concerns those that announce something, too.
	ErrCrowded = errors.New("directory: too many entries")

	// ErrHidden is matched by a problem of a Directory with an entry, or some, that are there and
	// not shown, or not with all that they announce: there may be a publisher that is not found.
	ErrHidden = errors.New("directory: entry not shown")

	// ErrHarmless is matched by a problem of a Directory that hides no entry: it finds changes
	// later, or has found what is none.
	ErrHarmless = errors.New("directory: harmless problem")

	// ErrInvalidEntry is matched by every *FieldError.
	ErrInvalidEntry = errors.New("directory: invalid entry")

	// ErrExpired is the Err of a Gone event when the publisher did not renew its
	// entry in time. It was killed, it hangs, or it cannot reach the storage; the
	// entry appears again if it recovers.
	ErrExpired = errors.New("directory: entry not renewed in time")

	// ErrDead is the Err of a Gone event when the publisher's process is known to
	// have ended without withdrawing its entry.
	ErrDead = errors.New("directory: publisher process ended")
)

// FieldError reports one field of an Entry that breaks a rule. Entry.Validate
// joins one for each violation. It matches ErrInvalidEntry.
type FieldError struct {
	Field  string // name of the field of Entry; Addresses[2] for a part of it
	Value  string // the refused value as text, shortened
	Reason string // which rule it breaks and what to give instead
}

// Error names the field, its value and the rule.
func (e *FieldError) Error() string {
	return sanitize.Linef("directory: entry field %s = %s: %s", e.Field, e.Value, e.Reason)
}

// Is reports whether target is ErrInvalidEntry.
func (e *FieldError) Is(target error) bool { return target == ErrInvalidEntry }

// UnknownSchemeError reports a URL of a kind of directory that the program does not have.
// It is an ErrUnknownScheme.
type UnknownSchemeError struct {
	Scheme string // of the URL
	URL    string
}

// elsewhere says which programs and packages have what others do not.
var elsewhere = map[string]string{
	"etcd":  "it is in publisher-etcd, subscriber-etcd and tagbus-etcd, and in programs that import tagbus/directory/etcd",
	"etcds": "it is in publisher-etcd, subscriber-etcd and tagbus-etcd, and in programs that import tagbus/directory/etcd",
}

// Error names the URL, and what has this kind of directory.
func (e *UnknownSchemeError) Error() string {
	where := elsewhere[e.Scheme]
	if where == "" {
		where = "want the path of a folder, file:///path or etcd://HOST,HOST/NAME"
	}
	return sanitize.Linef("%v: %s: %s", ErrUnknownScheme, shown(e.URL), where)
}

// Is reports whether target is ErrUnknownScheme.
func (*UnknownSchemeError) Is(target error) bool { return target == ErrUnknownScheme }
