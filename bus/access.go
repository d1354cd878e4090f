// SPDX-License-Identifier: Apache-2.0

package bus

import (
	"crypto/x509"
	"errors"
	"fmt"

	"tagbus/acl"
	"tagbus/bus/internal/door"
	"tagbus/identity"
	"tagbus/internal/sanitize"
	"tagbus/tags"
)

// Access decides which peer this is and what it may do. It is asked when a connection is
// ready, and when a peer subscribes, announces or asks for state, never per message.
// Without one every peer may do everything.
//
// Package access has one of certificates and a policy.
//
// Threads: any, for all methods. Blocks: never.
type Access interface {
	// Self returns what this process is called.
	Self() identity.Principal

	// Identify returns the peer of a connection.
	//
	//   - shown: the certificates by which the transport let it in
	//     (netio.Authenticated); none: the peer is anonymous.
	//   - Errors: why the peer does not count; the connection ends with it.
	Identify(shown []*x509.Certificate) (*identity.Peer, error)

	// Check returns why a peer that Identify has returned no longer counts, or nil.
	Check(peer *identity.Peer) error

	// Split divides tags into those with which a peer may do something, and the others.
	Split(who identity.Principal, action acl.Action, asked tags.Set) (may, mayNot tags.Set)

	// Allowed returns all tags with which a peer may do something.
	Allowed(who identity.Principal, action acl.Action) tags.Set

	// Explain returns a few words about the rule that is nearest to letting a peer do
	// something with a tag, for the owner of the policy; empty if there is none.
	Explain(who identity.Principal, action acl.Action, tag tags.Tag) string

	// Watch calls changed, on a goroutine of its own, each time the answers may have become
	// others, until stop, which returns when changed does not run.
	Watch(changed func()) (stop func())
}

// Failing is an Access that may go by something of before: its source, such as a file, has changed and
// cannot be used, or does not answer. The state of an instance says so to those who ask.
type Failing interface {
	// Failing reports whether it does so now. Threads: any. Blocks: never.
	Failing() bool
}

// ErrNotAllowed is matched by every *AccessError, of this side or of a peer that tells it as
// the reason of a refusal.
var ErrNotAllowed = errors.New("bus: not allowed")

// AccessError says that no rule of the policy lets a peer do something with some tags.
type AccessError struct {
	Who    identity.Principal
	Action acl.Action
	Tags   tags.Set // with which; empty: with none of those that are here
	Rule   string   // the rule that is nearest, for this side only; may be empty
	Times  uint64   // how often it was refused since it was told last; 0: once
}

// Error names the peer, the action, the tags, and the rule that is missing. Of the rules that
// there are it names that of Rule alone.
func (e *AccessError) Error() string { return door.Refusal(*e).String() }

// Is reports whether target is ErrNotAllowed.
func (*AccessError) Is(target error) bool { return target == ErrNotAllowed }

// errTakenInstance is told to a peer that says the instance of another one, whose place it
// would take.
var errTakenInstance = fmt.Errorf("%w: another peer has this instance", ErrProtocol)

// doorTo returns what an instance asks Access through.
func doorTo(access Access) door.Door {
	return door.Door{Access: access, Refuse: func(r door.Refusal) error { e := AccessError(r); return &e }}
}

// self returns why this process may not do something with tags, or nil: its own policy
// would refuse it.
//
// Errors: *AccessError.
func self(access Access, action acl.Action, set tags.Set) error {
	d := doorTo(access)
	return d.Own(action, set)
}

// outsideOf returns what a peer is told of a refusal: it shows nothing of the policy.
func outsideOf(err error) error {
	if refused := (*AccessError)(nil); errors.As(err, &refused) {
		outside := AccessError(door.Refusal(*refused).Outside())
		return &outside
	}
	return err
}

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
