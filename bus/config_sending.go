// SPDX-License-Identifier: Apache-2.0

package bus

import (
	"math"
	"time"

	"tagbus/bus/internal/cache"
	"tagbus/bus/internal/fanout"
	"tagbus/internal/validate"
)

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

// frameBytes returns the size of the largest transport message that a
// publisher of these sizes sends.
func frameBytes(pageBytes, maxMessage int) int {
	return max(pageBytes, fanout.MostFraming+maxMessage, smallestMaxMessage)
}
