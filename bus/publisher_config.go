// SPDX-License-Identifier: Apache-2.0

package bus

import (
	"math"

	"tagbus/internal/validate"
	"tagbus/tags"
)

// DefaultMaxSubscribers is PublisherConfig.MaxSubscribers unless set.
const DefaultMaxSubscribers = 4096

const (
	defaultMaxStreams = 64
	controlBuffers    = 8
	maxRemovedTags    = 1 << 20 // that a publisher remembers
)

// PublisherConfig says how a Publisher publishes. Only Tags has no default.
type PublisherConfig struct {
	Common
	Listening
	Sending

	// Tags are the tags that this publisher serves at first; AddTags and
	// RemoveTags change them.
	Tags tags.Set

	// SubscriberBytes is how many bytes of messages may wait for all subscriptions of one
	// subscriber together. Each policy has a share: the BacklogBytes asked for, or
	// QueueBytes. A subscription whose share does not fit beside the others is refused.
	// At least QueueBytes. Default: 16 times QueueBytes, which is enough for all.
	SubscriberBytes int

	// MaxStreams bounds the number of sets of subscribers that share pages. Messages
	// for a further set are copied into a page for each subscriber, unless that takes more
	// than a quarter of the pages. Default 64.
	MaxStreams int

	// MaxSubscribers is the largest number of connections. A further one is refused,
	// unless a connection without subscription gives way: the oldest of the address
	// that has most of these. Default 4096.
	MaxSubscribers int

	// MaxSubscribersPerHost is how many of them may come from one address, so that
	// one host cannot take all places. It does not bind loopback addresses. Default:
	// three quarters of MaxSubscribers.
	MaxSubscribersPerHost int
}

func (c PublisherConfig) withDefaults() PublisherConfig {
	c.Common.setDefaults()
	c.Listening.setDefaults()
	c.Sending.setDefaults()
	validate.Default(&c.SubscriberBytes, int(min(maxLanes*int64(c.QueueBytes), math.MaxInt)))
	validate.Default(&c.MaxStreams, defaultMaxStreams)
	validate.Default(&c.MaxSubscribers, DefaultMaxSubscribers)
	validate.Default(&c.MaxSubscribersPerHost, shareOfHost(c.MaxSubscribers))
	return c
}

// Validate reports all violations of c, joined; each wraps ErrInvalidConfig
// and names the field, its value and its limit.
func (c PublisherConfig) Validate() error {
	c = c.withDefaults()
	v := validate.Violations{Kind: ErrInvalidConfig}
	checkTags(&v, c.Tags, "publish")
	c.Common.check(&v)
	c.Listening.check(&v)
	c.Sending.check(&v)
	validate.Within(&v, "MaxStreams", c.MaxStreams, 1, 1<<16)
	validate.Within(&v, "MaxSubscribers", c.MaxSubscribers, 1, 1<<20)
	validate.Within(&v, "MaxSubscribersPerHost", c.MaxSubscribersPerHost, 1, 1<<20)
	if v.Err() == nil {
		validate.Within(&v, "SubscriberBytes", c.SubscriberBytes, c.QueueBytes, min(maxLanes*maxBytes, math.MaxInt))
	}
	return v.Err()
}

// SenderConfig says how a Sender sends. The zero value is good.
type SenderConfig struct {
	Common
	Dialing
	Sending

	// Tags are the tags that may be sent to. The receivers that own them are dialed at
	// once. Default: any tag; its receiver is dialed at the first use.
	Tags tags.Set
}

// withDefaults fills in what is not a publisher's.
func (c SenderConfig) withDefaults() SenderConfig {
	c.Dialing.setDefaults()
	return c
}

// publisher returns the configuration of the publisher inside a sender.
func (c SenderConfig) publisher() PublisherConfig {
	set := c.Tags
	if set.IsEmpty() {
		set = tags.Everything()
	}
	return PublisherConfig{Common: c.Common, Sending: c.Sending, Tags: set, MaxSubscribers: maxReceivers}
}

// maxReceivers is no limit: the sender itself dials all of them.
const maxReceivers = 1 << 20

// Validate reports all violations of c, joined; each wraps ErrInvalidConfig
// and names the field, its value and its limit.
func (c SenderConfig) Validate() error {
	c = c.withDefaults()
	v := validate.Violations{Kind: ErrInvalidConfig}
	v.Join(c.publisher().Validate())
	c.Dialing.check(&v)
	return v.Err()
}
