// SPDX-License-Identifier: Apache-2.0

package bus

import (
	"fmt"

	"tagbus/bus/directory"
	"tagbus/internal/validate"
	"tagbus/tags"
)

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
