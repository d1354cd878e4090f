package bus

import "tagbus/subscription"

// Policy says how a publisher treats a subscription that is slow. The zero
// value blocks. Its text form is what the commands take.
type Policy = subscription.Policy

// PolicyKind is the kind of a Policy, without its argument.
type PolicyKind = subscription.PolicyKind

// The kinds of policies; see package subscription.
const (
	Block      = subscription.Block
	DropNewest = subscription.DropNewest
	DropOldest = subscription.DropOldest
	Latest     = subscription.Latest
	Sample     = subscription.Sample
	Disconnect = subscription.Disconnect
)

// ErrPolicy is wrapped by the errors about policies.
var ErrPolicy = subscription.ErrPolicy

// ParsePolicy reads a policy's text form: block, drop-newest, drop-oldest,
// latest, sample:N or disconnect:TIME.
//
// Errors: ErrPolicy, wrapped.
func ParsePolicy(text string) (Policy, error) { return subscription.ParsePolicy(text) }
