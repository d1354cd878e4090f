// SPDX-License-Identifier: Apache-2.0

package signed

import (
	"time"

	"tagbus/acl"
	"tagbus/identity"
	"tagbus/tags"
)

// Access is what says which tags a signer may announce. An *access.Access and a bus.Access are
// ones.
//
// Threads: any, for all methods. Blocks: never.
type Access interface {
	// Split divides tags into those with which a principal may do something, and the others.
	Split(who identity.Principal, action acl.Action, asked tags.Set) (may, mayNot tags.Set)

	// Explain returns one line that says why a principal may not do something with a tag.
	Explain(who identity.Principal, action acl.Action, tag tags.Tag) string

	// Watch calls changed, on a goroutine of its own, each time certificates or policy may
	// have changed, until stop, which returns when changed does not run.
	Watch(changed func()) (stop func())
}

// Config says with what is signed, and what is believed.
type Config struct {
	// Identity has the key that signs, and decides which certificates of others count.
	Identity *identity.Store

	// Access decides which tags a signer may announce.
	Access Access

	// KeepOpen makes Close leave the directory that was wrapped open.
	KeepOpen bool

	// Now returns the time. nil: time.Now.
	Now func() time.Time
}
