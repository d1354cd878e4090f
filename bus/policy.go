// SPDX-License-Identifier: Apache-2.0

package bus

import (
	"time"

	"tagbus/subscription"
)

// Policy says how a publisher treats a subscription that is slow. The zero value blocks.
// Policy{Kind: Sample, Every: 10} is one with an argument. Policies can be compared with ==.
// The text form is what the commands take:
//
//	block
//	drop-newest
//	drop-oldest
//	latest
//	sample:10
//	disconnect:5s
type Policy struct {
	Kind  PolicyKind
	Every uint64        // Sample only: of that many messages of a tag the first is taken; at least 1
	After time.Duration // Disconnect only: how long the subscriber may take nothing; at least 1ms
}

// PolicyKind is what a publisher does when a subscription has no room.
type PolicyKind uint8

// The kinds of policies.
const (
	// Block refuses the message for all subscribers: the publisher waits. Nothing is
	// lost while the connection lives.
	Block PolicyKind = iota

	// DropNewest loses the messages for which there is no room.
	DropNewest

	// DropOldest loses the messages that wait longest, to make room.
	DropOldest

	// Latest keeps only the newest message of each tag while the subscription
	// is busy: it always gets the state of now, never a backlog.
	Latest

	// Sample takes every Nth message of each tag, and loses what finds no room
	// then.
	Sample

	// Disconnect blocks. It closes the connection when the subscriber has taken
	// nothing of what waits for it for some time, as exactly as
	// PublisherConfig.MaxStall says.
	Disconnect
)

// ErrPolicy is wrapped by the errors about policies.
var ErrPolicy = subscription.ErrPolicy

// ParsePolicy reads the text form. Disconnect without a time means 5 s.
//
// Errors: ErrPolicy, wrapped with the text and the forms that exist.
func ParsePolicy(text string) (Policy, error) {
	p, err := subscription.ParsePolicy(text)
	return policyFrom(p), err
}

// policyFrom returns the policy of a control message.
func policyFrom(p subscription.Policy) Policy {
	return Policy{Kind: PolicyKind(p.Kind), Every: p.Every, After: p.After}
}

// inside returns p as what is inside of the bus knows it.
func (p Policy) inside() subscription.Policy {
	return subscription.Policy{Kind: subscription.PolicyKind(p.Kind), Every: p.Every, After: p.After}
}

// Validate returns nil if p is a policy, or else what is wrong with it.
//
// Errors: ErrPolicy, wrapped.
func (p Policy) Validate() error { return p.inside().Validate() }

// Lossless reports whether p loses nothing while the connection lives.
func (p Policy) Lossless() bool { return p.Kind == Block || p.Kind == Disconnect }

// String returns the text form.
func (p Policy) String() string { return p.inside().String() }

// MarshalText implements encoding.TextMarshaler.
//
// Errors: those of Validate.
func (p Policy) MarshalText() ([]byte, error) { return []byte(p.String()), p.Validate() }

// UnmarshalText implements encoding.TextUnmarshaler, by ParsePolicy.
//
// Errors: ErrPolicy, wrapped.
func (p *Policy) UnmarshalText(text []byte) (err error) {
	*p, err = ParsePolicy(string(text))
	return err
}

// String returns the kind's name: that of the text form.
func (k PolicyKind) String() string { return subscription.PolicyKind(k).String() }

// UnmarshalText implements encoding.TextUnmarshaler: it reads a kind's name.
//
// Errors: ErrPolicy, wrapped.
func (k *PolicyKind) UnmarshalText(text []byte) error {
	return (*subscription.PolicyKind)(k).UnmarshalText(text)
}
