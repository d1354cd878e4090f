// SPDX-License-Identifier: Apache-2.0

package signed

import (
	"errors"

	"tagbus/bus/directory"
	"tagbus/identity"
	"tagbus/internal/sanitize"
	"tagbus/tags"
)

// Errors of entries. They are inside a *RefusedError, except ErrNoRoom.
var (
	// ErrUnsigned is the error of an entry without a proof. Start its process with certificates.
	ErrUnsigned = errors.New("it is not signed: start its process with certificates")

	// ErrDamaged is the error of a proof that cannot be read.
	ErrDamaged = errors.New("its proof cannot be read: it is damaged, or of a newer program")

	// ErrSignature is the error of an entry that is not the one that was signed.
	ErrSignature = errors.New("its signature is not of this entry: it was changed after it was signed")

	// ErrWays is the error of an entry whose ways are not those that were signed. It is used without them.
	ErrWays = errors.New("the signature of its ways is not of these: they were changed after they were signed, and connections go the last one")

	// ErrReplayed is the error of an entry that was signed before one that has been seen.
	ErrReplayed = errors.New("it is an old one put back: a newer one of the same signer has been seen")

	// ErrStale is the error of an entry that was signed too long ago. Its process has ended, or
	// its clock is late.
	ErrStale = errors.New("its signature is too old: its process has ended, hangs, or has a clock that is late")

	// ErrFuture is the error of an entry that was signed in the future. Compare the clocks.
	ErrFuture = errors.New("its signature is of the future: compare the clocks of both hosts")

	// ErrNotCovered is the error of an entry with tags that no rule of the policy lets its signer
	// announce.
	ErrNotCovered = errors.New("not covered by the policy")

	// ErrNoRoom is returned by Announce and Update if the certificates do not fit an entry. Leave
	// out intermediates that the readers have.
	ErrNoRoom = errors.New("signed: the certificates are too large, or too many, for an entry of the directory")

	// ErrKey is returned by Announce and Update if the key is of a kind that does not sign
	// entries. Take one of ECDSA, RSA or Ed25519.
	ErrKey = errors.New("signed: the key cannot sign entries: want one of ECDSA, RSA or Ed25519")
)

// RefusedError says why an entry is not shown, or not all of its tags are.
type RefusedError struct {
	Instance string
	Name     string
	Host     string // as the entry says, which is not proven if it is not signed
	Role     directory.Role
	Tags     tags.Set           // of the entry, as it says, that are not shown
	Signer   identity.Principal // anonymous if it is not known
	Partly   bool               // the entry is shown with those of its tags that may be, or without its ways
	Err      error              // one of the errors above, wrapped, or an *identity.ChainError
}

// Error names the entry, the signer and the reason.
func (e *RefusedError) Error() string {
	text := "directory: the entry of " + sanitize.Text(e.Instance)
	if e.Name != "" || e.Host != "" {
		text += " (" + sanitize.Text(e.Name) + "@" + sanitize.Text(e.Host) + ")"
	}
	if !e.Signer.IsAnonymous() {
		text += ", signed by " + sanitize.Text(sanitize.Cut(e.Signer.String(), 200)) + ","
	}
	if e.Partly {
		text += " is used in part"
	} else {
		text += " is not used"
	}
	return text + ": " + sanitize.Error(e.Err)
}

// Unwrap returns Err.
func (e *RefusedError) Unwrap() error { return e.Err }

// Is reports whether target is directory.ErrHidden, or directory.ErrHarmless of an entry that is shown with all of its
// tags.
func (e *RefusedError) Is(target error) bool {
	if e.Partly && e.Tags.IsEmpty() {
		return target == directory.ErrHarmless
	}
	return target == directory.ErrHidden
}

// refused returns why an entry is not shown.
func refused(e *directory.Entry, peer *identity.Peer, err error) *RefusedError {
	r := &RefusedError{Instance: e.Instance, Name: e.Name, Host: e.Host, Role: e.Role, Tags: e.Tags, Err: err}
	if peer != nil {
		r.Signer = peer.Principal
	}
	return r
}
