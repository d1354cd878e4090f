// SPDX-License-Identifier: Apache-2.0

package bus

import (
	"math"
	"time"

	"tagbus/bus/internal/cache"
	"tagbus/bus/internal/fanout"
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

// Limits of Sending.
const (
	minPageBytes    = 256
	maxPageBytes    = 16 << 20
	maxMessageBytes = 1<<30 - 1 - fanout.MostFraming
	minCacheBytes   = 4096
	maxCacheBytes   = min((1<<32-2)*cache.BlockBytes, math.MaxInt)
)

// Sending is the part of a configuration that says how a Publisher or a Sender keeps and
// sends messages. Its peers are subscribers or receivers.
type Sending struct {
	// PageBytes is the size of a page, 256 B to 16 MiB. Default 130,900. A larger
	// message takes the memory of several pages.
	PageBytes int

	// QueueBytes is how many bytes of messages, as they are sent, may wait for the
	// subscriptions of one peer that have the same policy. A slow peer can be no further
	// behind. At least MaxMessageBytes. Default 4 MiB.
	QueueBytes int

	// PoolBytes is the memory for all messages that wait. A stalled peer holds at
	// most QueueBytes of it for each of its policies. All policies that may lose messages
	// together hold at most half of the pool. In a smaller pool stalled peers can
	// starve the others. Besides, many pages of a few bytes each take as much memory again
	// for what is known of each. At least QueueBytes + PageBytes. Default 64 MiB.
	PoolBytes int

	// MaxMessageBytes is the largest payload of one message. Default 1 MiB.
	MaxMessageBytes int

	// FlushInterval is how long a page that is not full waits for more messages.
	// Default 0: a message that stands alone is sent at once, bursts gather for 50 µs, and
	// a flood fills its pages. Bursts of one length are sent with their last message; one
	// that is shorter than those before waits for the next one, but 2 ms at most. Flush and
	// PublishBatch say where a burst ends. A longer interval takes less processor time for
	// each message while they come slowly. SendAcked does not wait for it.
	FlushInterval time.Duration

	// Policies are the kinds of policies that peers may choose. Others are refused.
	// Default: all.
	Policies []PolicyKind

	// MaxStall closes the connection of a peer with the policy Block that takes
	// no waiting message for this long. It also bounds the time of the policy
	// Disconnect. It is counted in ticks of at most a quarter of it, but at least 10
	// ms, so the end may come one tick later. Default 0: never.
	MaxStall time.Duration

	// CacheMessages is how many of the newest messages of each tag are kept, for late
	// subscribers (SubscriptionConfig.Replay) and for peers that lost their connection.
	// A receiver is sent what it missed if its policy is lossless and no other receiver
	// owned the tag meanwhile. Default 0: none; missed messages are lost.
	CacheMessages int

	// CacheBytes is the memory for that, for all tags together. A message takes 128
	// bytes for each begun 94 bytes of its payload, and at least 128. If the memory is
	// full, the oldest messages of any tag make room. A message that needs more than
	// all of it is not kept. Default 64 MiB.
	CacheBytes int

	// OnReady is called on the loop after ErrNoResources, when there is room again: a
	// quarter of a queue that was full, or memory of the pool. Publishing or sending may
	// succeed again; the room may also be that of another tag's peer. It must not block;
	// it may publish or send.
	OnReady func()
}

func (c *Sending) setDefaults() {
	validate.Default(&c.PageBytes, defaultPageBytes)
	validate.Default(&c.MaxMessageBytes, defaultMaxMessageBytes)
	validate.Default(&c.QueueBytes, max(defaultSendQueueBytes, c.memory().LeastQueue()))
	validate.Default(&c.PoolBytes, max(defaultPoolBytes, c.memory().LeastPool()))
	if c.CacheMessages != 0 {
		validate.Default(&c.CacheBytes, defaultCacheBytes)
	}
}

func (c *Sending) check(v *validate.Violations) {
	sizes := validate.Violations{Kind: ErrInvalidConfig}
	validate.Within(&sizes, "PageBytes", c.PageBytes, minPageBytes, maxPageBytes)
	validate.Within(&sizes, "MaxMessageBytes", c.MaxMessageBytes, 1, maxMessageBytes)
	if sizes.Err() == nil { // else the limits of these are wrong, too
		validate.Within(&sizes, "QueueBytes", c.QueueBytes, c.memory().LeastQueue(), maxBytes)
		validate.Within(&sizes, "PoolBytes", c.PoolBytes, c.memory().LeastPool(), maxBytes)
	}
	v.Join(sizes.Err())
	validate.Within(v, "CacheMessages", c.CacheMessages, 0, maxCacheMessages)
	switch {
	case c.CacheMessages != 0:
		validate.Within(v, "CacheBytes", c.CacheBytes, minCacheBytes, maxCacheBytes)
	case c.CacheBytes != 0:
		v.Add("CacheBytes is %d, but nothing is kept: set CacheMessages", c.CacheBytes)
	}
	validate.Within(v, "FlushInterval", c.FlushInterval, 0, validate.MaxDuration)
	if c.MaxStall != 0 && (c.MaxStall < time.Millisecond || c.MaxStall > validate.MaxDuration) {
		v.Add("MaxStall is %v, want 1ms to %v, or 0 for ever", c.MaxStall, validate.MaxDuration)
	}
}

// memory returns how much memory that is.
func (c *Sending) memory() fanout.Memory {
	return fanout.Memory{
		PageBytes: c.PageBytes, QueueBytes: c.QueueBytes, PoolBytes: c.PoolBytes, MaxMessageBytes: c.MaxMessageBytes,
		CacheMessages: c.CacheMessages, CacheBytes: c.CacheBytes,
	}
}
