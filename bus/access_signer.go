// SPDX-License-Identifier: Apache-2.0

package bus

import (
	"errors"

	"tagbus/bus/directory"
	"tagbus/identity"
	"tagbus/internal/sanitize"
)

// ErrWrongSigner is matched by every *SignerError.
var ErrWrongSigner = errors.New("bus: another peer answers than the one that has signed the entry of the directory")

// SignerError says that a peer answers at an address of a directory entry that another one has
// signed. It gets nothing. Either the address has passed to another process, and the entry
// will go, or that process pretends to be the other one.
type SignerError struct {
	Instance string             // of the entry
	Signer   string             // the principal that has signed it
	Who      identity.Principal // the peer that answers
}

// Error names both principals.
func (e *SignerError) Error() string {
	return sanitize.Linef("%v: the entry of %s was signed by %s, and %s answers", ErrWrongSigner, e.Instance, e.Signer, e.Who)
}

// Is reports whether target is ErrWrongSigner.
func (*SignerError) Is(target error) bool { return target == ErrWrongSigner }

// announced reports why a peer is not the one that has signed an entry, or nil. Transports
// without certificates do not know their peers: over these an entry says where a signer
// listened, and the policy what anonymous peers may do.
//
// Errors: *SignerError.
func (d *door) announced(e *directory.Entry, who *identity.Peer) error {
	if d.access == nil || e.Signer == "" || who.Principal.IsAnonymous() || who.Principal.String() == e.Signer {
		return nil
	}
	return &SignerError{Instance: e.Instance, Signer: e.Signer, Who: who.Principal}
}
