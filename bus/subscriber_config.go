// SPDX-License-Identifier: Apache-2.0

package bus

import (
	"fmt"
	"math"
	"time"

	"tagbus/bus/directory"
	"tagbus/internal/validate"
	"tagbus/tags"
)

// subscribeBuffers is how many send buffers a connection to a publisher has.
const subscribeBuffers = 4

// SubscriberConfig says how a Subscriber works. The zero value is good.
type SubscriberConfig struct {
	Common
	Dialing
	Receiving
}

func (c SubscriberConfig) withDefaults() SubscriberConfig {
	c.Common.setDefaults()
	c.Dialing.setDefaults()
	c.Receiving.setDefaults()
	return c
}

// Validate reports all violations of c, joined; each wraps ErrInvalidConfig
// and names the field, its value and its limit.
func (c SubscriberConfig) Validate() error {
	c = c.withDefaults()
	v := validate.Violations{Kind: ErrInvalidConfig}
	c.Common.check(&v)
	c.Dialing.check(&v)
	c.Receiving.check(&v, math.MaxInt32)
	return v.Err()
}

// Duplicates says what a subscription gets of a tag that several publishers serve. In
// any case a Duplicate event reports it, and each message has its publisher and that
// publisher's counter.
type Duplicates uint8

const (
	// DuplicatesAll delivers the messages of all of them. There is no order
	// between those of different publishers.
	DuplicatesAll Duplicates = iota

	// DuplicatesNewest delivers those of the publisher that announced the tag last,
	// from its acknowledgement on. Until then it delivers those of the one before. The
	// publisher keeps the tag until it has left the directory and its connection has
	// ended. Then the one before takes over, from its acknowledgement on.
	DuplicatesNewest

	// DuplicatesRefuse delivers those of the publisher that announced the tag first. No
	// other publisher is asked for the tag until the first has left the directory and
	// its connection has ended, unless Access does not let it send the tag here. Another
	// publisher that is asked for nothing else is not connected.
	DuplicatesRefuse
)

// SubscriptionConfig says how the publishers treat a subscription. The zero
// value loses nothing while a connection lives, and makes the publishers wait
// when the subscriber is slow.
//
// Subscriptions of one Subscriber with the same Policy and BacklogBytes share their
// room at a publisher, and a message that several of them want crosses the network
// once. They do not affect the other subscriptions, with one exception. All
// subscriptions share the connection. One without handler and with Block or Disconnect
// stops it while its own queue is full (Subscription.Messages).
type SubscriptionConfig struct {
	// Policy is what happens when there is no room. Default: Block. A publisher
	// may refuse a policy.
	Policy Policy

	// BacklogBytes is how much page memory the subscription may hold at each
	// publisher. Default and limit: the publisher's QueueBytes. It counts in
	// whole pages, at least one.
	BacklogBytes int

	// Replay is how many earlier messages of each tag come first: the newest that the
	// publisher has kept and has room for (PublisherConfig.CacheMessages). The same
	// holds for tags that Add adds. A tag is not replayed if another subscription of
	// this Subscriber with the same Policy and BacklogBytes has it at that publisher,
	// since a message crosses once for all of these. With the policy Latest at most the
	// newest message of each tag comes. Default 0.
	Replay int

	// Duplicates is what to do when several publishers serve a tag.
	Duplicates Duplicates

	// Batches keeps what comes for a subscription without handler page by page, for
	// Subscription.Batches and TakeBatch. Where the transport can spare the memory nothing is
	// copied. Messages works, too. Until they are taken, pages hold at most five times
	// SubscriberConfig.QueueBytes of memory. Default: messages are copied, one by one.
	Batches bool

	// Timeout is how long the subscription waits for the first acknowledgement by a
	// publisher. Without one it ends with a *NoPublisherError and a Problem event.
	// Default 0: for ever.
	Timeout time.Duration
}

// lane returns what the publisher sees of the configuration all the time:
// subscriptions that have it in common share a lane. Replay matters only at the
// start.
func (c SubscriptionConfig) lane() SubscriptionConfig {
	c.Replay, c.Duplicates, c.Batches, c.Timeout = 0, 0, false, 0
	return c
}

// Validate reports all violations of c, joined; each wraps ErrInvalidConfig
// and names the field, its value and its limit.
func (c SubscriptionConfig) Validate() error {
	v := validate.Violations{Kind: ErrInvalidConfig}
	v.Field("Policy", c.Policy.Validate())
	validate.Within(&v, "BacklogBytes", c.BacklogBytes, 0, maxBytes)
	validate.Within(&v, "Replay", c.Replay, 0, maxCacheMessages)
	validate.Within(&v, "Duplicates", int(c.Duplicates), int(DuplicatesAll), int(DuplicatesRefuse))
	if c.Timeout < 0 || c.Timeout > validate.MaxDuration {
		v.Add("Timeout is %v, want a positive duration of at most %v, or 0 to wait for ever", c.Timeout, validate.MaxDuration)
	}
	return v.Err()
}

// defaultMaxSenders is ReceiverConfig.MaxSenders unless set.
const defaultMaxSenders = 4096

// ReceiverConfig says how a Receiver receives. Only Tags has no default. A sender whose
// pages are larger than MaxMessageBytes is refused, too.
type ReceiverConfig struct {
	Common
	Listening
	Receiving

	// Tags are the tags that this receiver owns. No other receiver has one of
	// them at the same time.
	Tags tags.Set

	// Subscription says how the senders treat this receiver when it is slow. The
	// zero value makes them wait, and loses nothing while a connection lives. Its
	// Duplicates and Timeout must be zero: several senders may send to a tag, at
	// any time.
	Subscription SubscriptionConfig

	// Pages is called for all messages of a page at once, where the receiver has no handler; see
	// Subscriber.SubscribePages. Default: none.
	Pages func(Batch)

	// MaxSenders is the largest number of connections. A further one is refused, unless
	// a connection that has sent nothing gives way: the oldest of the address that has
	// most of these. One address, other than a loopback address, has at most three
	// quarters of them. Default 4096.
	MaxSenders int
}

func (c ReceiverConfig) withDefaults() ReceiverConfig {
	c.Common.setDefaults()
	c.Listening.setDefaults()
	c.Receiving.setDefaults()
	validate.Default(&c.MaxSenders, defaultMaxSenders)
	return c
}

// subscriber returns the configuration of the subscriber inside a receiver.
func (c ReceiverConfig) subscriber() SubscriberConfig {
	return SubscriberConfig{Common: c.Common, Receiving: c.Receiving}
}

// Validate reports all violations of c, joined; each wraps ErrInvalidConfig
// and names the field, its value and its limit.
func (c ReceiverConfig) Validate() error {
	c = c.withDefaults()
	v := validate.Violations{Kind: ErrInvalidConfig}
	checkTags(&v, c.Tags, "receive")
	c.Common.check(&v)
	c.Listening.check(&v)
	c.Receiving.check(&v, directory.MaxSizeBytes)
	if err := c.Subscription.Validate(); err != nil {
		v.Join(fmt.Errorf("Subscription: %w", err))
	}
	if c.Subscription.Duplicates != DuplicatesAll {
		v.Add("Subscription.Duplicates is %d, want %d: a receiver takes what all senders of a tag send", c.Subscription.Duplicates, DuplicatesAll)
	}
	if c.Subscription.Timeout != 0 {
		v.Add("Subscription.Timeout is %v, want 0: a receiver waits for senders for ever", c.Subscription.Timeout)
	}
	validate.Within(&v, "MaxSenders", c.MaxSenders, 1, 1<<20)
	return v.Err()
}
