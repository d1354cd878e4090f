package bus

import (
	"errors"
	"fmt"
)

// SubscriptionConfig says how the publishers treat a subscription. The zero
// value loses nothing while a connection lives, and makes the publishers wait
// when the subscriber is slow.
//
// Subscriptions of one Subscriber with the same Policy and BacklogBytes share their
// room at a publisher, and a message that several of them want crosses the
// network once. Those with another do not feel them.
type SubscriptionConfig struct {
	// Policy is what happens when there is no room. Default: Block. A publisher
	// may refuse a policy.
	Policy Policy

	// BacklogBytes is how much page memory the subscription may hold at each
	// publisher. Default and limit: the publisher's QueueBytes. It counts in
	// whole pages, at least one.
	BacklogBytes int

	// Replay is how many messages of each tag that were published before are to
	// come first: the newest that the publisher has kept and has room for
	// (PublisherConfig.CacheMessages). They come for tags that no other
	// subscription of this Subscriber with the same Policy and BacklogBytes has
	// at that publisher, since a message crosses once for all of these. With
	// the policy Latest it is at most the newest of each tag. Default 0.
	Replay int
}

// Validate reports all violations of c, joined; each wraps ErrInvalidConfig
// and names the field, its value and its limit.
func (c SubscriptionConfig) Validate() error {
	var v violations
	if err := c.Policy.Validate(); err != nil {
		v = append(v, fmt.Errorf("%w: Policy: %w", ErrInvalidConfig, err))
	}
	v.within("BacklogBytes", c.BacklogBytes, 0, 1<<40)
	v.within("Replay", c.Replay, 0, maxCacheMessages)
	return errors.Join(v...)
}
