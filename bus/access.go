// SPDX-License-Identifier: Apache-2.0

package bus

import (
	"crypto/x509"

	"tagbus/acl"
	"tagbus/identity"
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

	// Explain returns one line that says why a peer may not do something with a tag, with
	// the rule that is nearest.
	Explain(who identity.Principal, action acl.Action, tag tags.Tag) string

	// Watch calls changed, on a goroutine of its own, each time the answers may have become
	// others, until stop, which returns when changed does not run.
	Watch(changed func()) (stop func())
}
