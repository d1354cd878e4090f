// SPDX-License-Identifier: Apache-2.0

package bus

import (
	"errors"
	"fmt"
	"math"
	"net/netip"
	"time"

	"tagbus/bus/internal/cache"
	"tagbus/bus/internal/fanout"
	"tagbus/bus/internal/hostaddr"
	"tagbus/internal/validate"
	"tagbus/netio"
	"tagbus/tags"
)

// DefaultMaxSubscribers is PublisherConfig.MaxSubscribers unless set.
const DefaultMaxSubscribers = 4096

// Further defaults of PublisherConfig.
const (
	// defaultPageBytes is two full TCP segments on the loopback device: a page
	// just above a segment travels as a large and a tiny packet.
	defaultPageBytes       = 2 * 65450
	defaultQueueBytes      = 4 << 20
	defaultPoolBytes       = 64 << 20
	defaultMaxMessageBytes = 1 << 20
	defaultMaxStreams      = 64
	defaultCacheBytes      = 64 << 20
)

// Limits of PublisherConfig.
const (
	minPageBytes    = 256
	maxPageBytes    = 16 << 20
	maxMessageBytes = 1<<30 - 1 - mostFraming
	minCacheBytes   = 4096
	maxCacheBytes   = min((1<<32-2)*cache.BlockBytes, math.MaxInt)
	controlBuffers  = 8
	maxRemovedTags  = 1 << 20 // that a publisher remembers
)

// PublisherConfig says how a Publisher publishes. Only Tags has no default.
type PublisherConfig struct {
	// Tags are the tags that this publisher serves at first; AddTags and
	// RemoveTags change them.
	Tags tags.Set

	// Name is shown to operators. Default: empty. At most 255 bytes.
	Name string

	// Access decides which peers may subscribe, and ask for the state of this instance.
	// Default: all may.
	Access Access

	// Listen is the local address to listen on. Default 127.0.0.1 and a port
	// that the system picks, which no other host can reach: set the address of
	// the network that carries the data.
	Listen netip.AddrPort

	// Advertise are the addresses announced to subscribers instead, in the order in
	// which they are tried: those of a host whose containers have other ones, or of a
	// router that translates. Port 0 is the port that was bound. At most 64. Default:
	// Listen with the real port; if Listen is unspecified (0.0.0.0 or ::), the addresses
	// of the host's interfaces that others may dial, as they change (adr/0028).
	Advertise []netip.AddrPort

	// Monitor is where this process serves metrics and its state by HTTP, as commands of
	// this module do with --metrics. It is announced for those that look after the bus,
	// and nothing is sent there. An unspecified IP (0.0.0.0 or ::) stands for the first
	// announced address. Default: none.
	Monitor netip.AddrPort

	// PageBytes is the size of a page, 256 B to 16 MiB. Default 130,900. A larger
	// message takes the memory of several pages.
	PageBytes int

	// QueueBytes is how many bytes of messages, as they are sent, may wait for the
	// subscriptions of one subscriber that have the same policy. A slow subscriber can be
	// no further behind. At least MaxMessageBytes. Default 4 MiB.
	QueueBytes int

	// SubscriberBytes is how many bytes of messages may wait for all subscriptions of one
	// subscriber together. Each policy has a share: the BacklogBytes asked for, or
	// QueueBytes. A subscription whose share does not fit beside the others is refused.
	// At least QueueBytes. Default: 16 times QueueBytes, which is enough for all.
	SubscriberBytes int

	// PoolBytes is the memory for all messages that wait. A stalled subscriber holds at
	// most QueueBytes of it for each of its policies. All policies that may lose messages
	// together hold at most half of the pool. In a smaller pool stalled subscribers can
	// starve the others. Besides, many pages of a few bytes each take as much memory again
	// for what is known of each. At least QueueBytes + PageBytes. Default 64 MiB.
	PoolBytes int

	// MaxMessageBytes is the largest payload of one message. Default 1 MiB.
	MaxMessageBytes int

	// FlushInterval is how long a page that is not full waits for more messages.
	// Default 0: a message that stands alone is sent at once, bursts gather for 50 µs, and
	// a flood fills its pages. A longer interval takes less processor time for each
	// message while they come slowly.
	FlushInterval time.Duration

	// MaxStreams bounds the number of sets of subscribers that share pages. Messages
	// for a further set are copied into a page for each subscriber. Default 64.
	MaxStreams int

	// MaxSubscribers is the largest number of connections. A further one is refused,
	// unless a connection without subscription gives way: the oldest of the address
	// that has most of these. Default 4096.
	MaxSubscribers int

	// MaxSubscribersPerHost is how many of them may come from one address, so that
	// one host cannot take all places. It does not bind loopback addresses. Default:
	// three quarters of MaxSubscribers.
	MaxSubscribersPerHost int

	// Policies are the kinds of policies that subscribers may choose. Others
	// are refused. Default: all.
	Policies []PolicyKind

	// HeartbeatInterval is the longest time without a message to a subscriber; after it
	// a heartbeat is sent. Default 2 s, or a third of HeartbeatTimeout if that is
	// shorter; 1 ms to an hour. HeartbeatsOff, or another negative value: this side
	// sends no heartbeats and ignores silence.
	//
	// With more than 500 subscribers a new one has a longer interval, as long as its
	// connection lasts. The n-th has HeartbeatInterval × (n/500)², but at most 30 s, or
	// HeartbeatInterval if that is longer. Both sides send heartbeats only that often.
	HeartbeatInterval time.Duration

	// HeartbeatTimeout closes the connection of a subscriber that sends nothing for
	// this long. The check runs at least four times per HeartbeatInterval, so the end
	// may come one such tick later. The timeout is never shorter than three of the
	// subscriber's own intervals, or of this side's for that subscriber if it is one
	// of very many. A subscriber without heartbeats is never timed out. One that only
	// stops reading still sends heartbeats. The timeout must exceed the time that the
	// largest message takes to cross the network. Default 6 s, or three
	// HeartbeatIntervals if that is longer; at least two. HeartbeatsOff, or another
	// negative value: never.
	HeartbeatTimeout time.Duration

	// MaxStall closes the connection of a subscriber with the policy Block that takes
	// no waiting message for this long. It also bounds the time of the policy
	// Disconnect. It is counted in ticks of at most a quarter of it, but at least 10
	// ms, so the end may come one tick later. Default 0: never.
	MaxStall time.Duration
	// CacheMessages is how many of the newest messages of each tag the publisher keeps,
	// for late subscribers (SubscriptionConfig.Replay) and for those that lost their
	// connection. Default 0: none.
	CacheMessages int

	// CacheBytes is the memory for that, for all tags together. A message takes 128
	// bytes for each begun 94 bytes of its payload, and at least 128. If the memory is
	// full, the oldest messages of any tag make room. A message that needs more than
	// all of it is not kept. Default 64 MiB.
	CacheBytes int

	// OnReady is called on the loop after ErrNoResources, when there is room again: a
	// quarter of a queue that was full, or memory of the pool. Publishing may succeed
	// again; the room may also be that of another tag's subscriber. It must not block;
	// it may publish.
	OnReady func()

	// OnEvent is called on the loop for every Event. It must not block and may
	// call any method that does not block.
	OnEvent func(Event)

	host hostaddr.Host // whose addresses are announced; set by tests only
}

func (c PublisherConfig) withDefaults() PublisherConfig {
	validate.Default(&c.Listen, anyLoopbackPort())
	validate.Default(&c.PageBytes, defaultPageBytes)
	validate.Default(&c.MaxMessageBytes, defaultMaxMessageBytes)
	validate.Default(&c.QueueBytes, max(defaultQueueBytes, c.messageMemory()))
	validate.Default(&c.SubscriberBytes, int(min(maxLanes*int64(c.QueueBytes), math.MaxInt)))
	validate.Default(&c.PoolBytes, max(defaultPoolBytes, c.queueAndPage()))
	validate.Default(&c.MaxStreams, defaultMaxStreams)
	validate.Default(&c.MaxSubscribers, DefaultMaxSubscribers)
	validate.Default(&c.MaxSubscribersPerHost, shareOfHost(c.MaxSubscribers))
	setHeartbeat(&c.HeartbeatInterval, &c.HeartbeatTimeout)
	if c.CacheMessages != 0 {
		validate.Default(&c.CacheBytes, defaultCacheBytes)
	}
	if c.OnEvent == nil {
		c.OnEvent = func(Event) {}
	}
	if c.host == nil {
		c.host = hostaddr.System
	}
	return c
}

// Validate reports all violations of c, joined; each wraps ErrInvalidConfig
// and names the field, its value and its limit.
func (c PublisherConfig) Validate() error {
	c = c.withDefaults()
	v := validate.Violations{Kind: ErrInvalidConfig}
	if c.Tags.IsEmpty() {
		v.Add("Tags is empty: name the tags to publish")
	}
	v.Field("Tags", checkEntry(c.Tags))
	checkName(&v, c.Name)
	checkAdvertise(&v, c.Advertise)
	checkMonitor(&v, c.Monitor)
	validate.Within(&v, "PageBytes", c.PageBytes, minPageBytes, maxPageBytes)
	validate.Within(&v, "MaxMessageBytes", c.MaxMessageBytes, 1, maxMessageBytes)
	validate.Within(&v, "MaxStreams", c.MaxStreams, 1, 1<<16)
	validate.Within(&v, "MaxSubscribers", c.MaxSubscribers, 1, 1<<20)
	validate.Within(&v, "MaxSubscribersPerHost", c.MaxSubscribersPerHost, 1, 1<<20)
	validate.Within(&v, "CacheMessages", c.CacheMessages, 0, maxCacheMessages)
	switch {
	case c.CacheMessages != 0:
		validate.Within(&v, "CacheBytes", c.CacheBytes, minCacheBytes, maxCacheBytes)
	case c.CacheBytes != 0:
		v.Add("CacheBytes is %d, but nothing is kept: set CacheMessages", c.CacheBytes)
	}
	if v.Err() == nil {
		validate.Within(&v, "QueueBytes", c.QueueBytes, c.messageMemory(), maxBytes)
		validate.Within(&v, "SubscriberBytes", c.SubscriberBytes, c.QueueBytes, min(maxLanes*maxBytes, math.MaxInt))
		validate.Within(&v, "PoolBytes", c.PoolBytes, c.queueAndPage(), maxBytes)
	}
	validate.Within(&v, "FlushInterval", c.FlushInterval, 0, validate.MaxDuration)
	checkHeartbeat(&v, c.HeartbeatInterval, c.HeartbeatTimeout)
	if c.MaxStall != 0 && (c.MaxStall < time.Millisecond || c.MaxStall > validate.MaxDuration) {
		v.Add("MaxStall is %v, want 1ms to %v, or 0 for ever", c.MaxStall, validate.MaxDuration)
	}
	return v.Err()
}

// queueAndPage returns the least memory for pages.
func (c *PublisherConfig) queueAndPage() int {
	return int(min(int64(c.QueueBytes)+int64(c.PageBytes), math.MaxInt))
}

// messageMemory returns the page memory that the largest message takes.
func (c *PublisherConfig) messageMemory() int {
	n := c.PageBytes
	return (mostFraming + c.MaxMessageBytes + n - 1) / n * n
}

// memory makes the memory that a publisher holds from its beginning: the pool of its
// pages and the cache, or nil. c has its defaults.
//
// Errors: netio.ErrNoMemory and others of the system, wrapped with the sizes and
// the fields that ask for them.
func (c *PublisherConfig) memory() (pool *netio.Pool, kept *cache.Cache, err error) {
	pages := c.PoolBytes / c.PageBytes
	forPool := int64(c.PoolBytes) + int64(pages*fanout.PageStateBytes)
	if err := netio.CheckMemory(forPool); err != nil {
		return nil, nil, c.poolError(err)
	}
	if c.CacheMessages > 0 {
		if err := netio.CheckMemory(int64(c.CacheBytes)); err != nil {
			return nil, nil, c.cacheError(err)
		}
		if err := netio.CheckMemory(forPool + int64(c.CacheBytes)); err != nil {
			return nil, nil, c.cacheError(fmt.Errorf("beside a pool of %d bytes: %w", c.PoolBytes, err))
		}
	}
	if pool, err = netio.NewPool(pages, c.PageBytes); err != nil {
		return nil, nil, c.poolError(err)
	}
	if c.CacheMessages > 0 {
		if kept, err = cache.New(c.CacheMessages, c.CacheBytes); err != nil {
			return nil, nil, errors.Join(c.cacheError(err), pool.Close())
		}
	}
	return pool, kept, nil
}

func (c *PublisherConfig) cacheError(err error) error {
	return fmt.Errorf("bus: CacheBytes is %d: %w", c.CacheBytes, err)
}

// poolError names the queue too: if only that is set, the pool is made for it.
func (c *PublisherConfig) poolError(err error) error {
	if c.PoolBytes == c.QueueBytes+c.PageBytes {
		return fmt.Errorf("bus: QueueBytes is %d, so PoolBytes is %d: %w", c.QueueBytes, c.PoolBytes, err)
	}
	return fmt.Errorf("bus: PoolBytes is %d: %w", c.PoolBytes, err)
}
