// SPDX-License-Identifier: Apache-2.0

package bus

import (
	"errors"
	"sync/atomic"
	"time"

	"tagbus/acl"
	"tagbus/bus/directory"
	"tagbus/identity"
	"tagbus/internal/backoff"
	"tagbus/internal/sanitize"
)

// refusals tells each refusal once, and again from time to time, with how often it came.
// Its zero value is ready.
//
// Threads: the loop, except total.
type refusals struct {
	total atomic.Uint64
	told  backoff.Reminders[refusalKey] // bounded: a peer chooses the tags for which it asks
}

// refusalKey says what is counted together.
type refusalKey struct {
	peer   identity.Principal // at the other end
	who    identity.Principal // that may not do it: the peer, or this process
	action acl.Action
}

// event returns the event for a refusal, and reports whether it is to be told now.
//
//   - err: one without an *AccessError is always told.
//   - peer: at the other end.
//   - proved: which one it is; nil without Access.
//   - door: names the rule.
func (r *refusals) event(door *door, err error, peer *Peer, proved *identity.Peer) (e Event, tell bool) {
	refused := (*AccessError)(nil)
	if !errors.As(err, &refused) {
		return Event{Kind: Refused, Peer: peer, Err: err}, true
	}
	r.total.Add(1)
	key := refusalKey{who: refused.Who, action: refused.Action}
	if proved != nil {
		key.peer = proved.Principal
	}
	times, due := r.told.Due(time.Now(), key, refused.outside().Error())
	if !due {
		return Event{}, false
	}
	counted := *door.explained(refused)
	counted.Times = times
	return Event{Kind: Refused, Peer: peer, Tags: refused.Tags, Err: &counted}, true
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
