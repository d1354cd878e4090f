package bus

import (
	"net/netip"
	"time"

	"tagbus/bus/internal/cache"
	"tagbus/bus/internal/wire"
	"tagbus/internal/check"
	"tagbus/subscription"
	"tagbus/tags"
)

// DefaultMaxSubscribers is PublisherConfig.MaxSubscribers unless set.
const DefaultMaxSubscribers = 4096

// Further defaults of PublisherConfig.
const (
	// defaultPageBytes is two full TCP segments on the loopback device: a page
	// just above a segment travels as a large and a tiny packet.
	defaultPageBytes        = 2 * 65450
	defaultQueueBytes       = 4 << 20
	defaultPoolBytes        = 64 << 20
	defaultMaxMessageBytes  = 1 << 20
	defaultFlushInterval    = time.Millisecond
	defaultSubscribeTimeout = 10 * time.Second
	defaultMaxStreams       = 64
	defaultCacheBytes       = 64 << 20
)

// FlushImmediately is the PublisherConfig.FlushInterval that sends a page as
// soon as the connection can take it: lowest latency. Messages are still
// coalesced while a connection is busy.
const FlushImmediately time.Duration = -1

// Limits of PublisherConfig.
const (
	minPageBytes     = 256
	maxPageBytes     = 16 << 20
	maxMessageBytes  = 1<<30 - 1 - wire.HeaderBytes - wire.MaxOverhead
	maxControlQueue  = 4 << 20 // bytes of answers queued for one subscriber
	minCacheBytes    = 4096
	maxCacheBytes    = (1<<32 - 2) * cache.BlockBytes
	controlBuffers   = 8
	maxInFlight      = 64      // pages and control messages given to the endpoint
	maxRemovedTags   = 1 << 20 // that a publisher remembers
	maxInFlightPages = 4       // of which full pages: more only leaves the cache
)

// PublisherConfig says how a Publisher publishes. Only Tags has no default.
type PublisherConfig struct {
	// Tags are the tags that this publisher serves at first; AddTags and
	// RemoveTags change them.
	Tags tags.Set

	// Name is shown to operators. Default: empty. At most 255 bytes.
	Name string

	// Listen is the local address to listen on. Default 127.0.0.1 and a port
	// that the system picks, which no other host can reach: set the address of
	// the network that carries the data.
	Listen netip.AddrPort

	// Advertise are the addresses announced to subscribers. Default: Listen
	// with the real port; if Listen is unspecified (0.0.0.0 or ::), every
	// address of the host's interfaces.
	Advertise []netip.AddrPort

	// PageBytes is the size of a page, 256 B to 16 MiB. Default 130,900.
	// Larger messages travel in several pages' memory at once.
	PageBytes int

	// QueueBytes is how much page memory the subscriptions of one subscriber
	// that have the same policy may hold: the most that a slow one can be
	// behind. At least MaxMessageBytes. Default 4 MiB.
	QueueBytes int

	// SubscriberBytes is how much page memory all subscriptions of one subscriber
	// together may hold: one is refused whose share, QueueBytes or what its
	// BacklogBytes asks for, does not fit beside those of the other policies. At
	// least QueueBytes. Default: as much as all can have, 16 times QueueBytes.
	SubscriberBytes int

	// PoolBytes is the memory for all pages. A stalled subscriber holds at most
	// QueueBytes of it for each of its policies (all that may lose messages
	// together half of the pool), and every stream in use needs a page: size it
	// above that, or they starve the others.
	// At least QueueBytes + PageBytes. Default 64 MiB.
	PoolBytes int

	// MaxMessageBytes is the largest payload of one message. Default 1 MiB.
	MaxMessageBytes int

	// FlushInterval is the longest that a message waits in a page that is not
	// full. Default 1 ms; FlushImmediately waits for the connection only.
	FlushInterval time.Duration

	// MaxStreams bounds the sets of subscribers that share pages. Tags whose
	// set of subscribers comes later are copied into a page per subscriber.
	// Default 64.
	MaxStreams int

	// MaxSubscribers is the number of connections above which new ones are
	// refused, unless one that has no subscription gives way: of the address with
	// most of these, the oldest. Default 4096.
	MaxSubscribers int

	// MaxSubscribersPerHost is how many of them may come from one address, so that
	// one host cannot take all places. It does not bind loopback addresses. Default:
	// three quarters of MaxSubscribers.
	MaxSubscribersPerHost int

	// Policies are the kinds of policies that subscribers may choose. Others
	// are refused. Default: all.
	Policies []subscription.PolicyKind

	// HeartbeatInterval is the longest that this side sends nothing to a subscriber:
	// then it sends a sign of life. Default 2 s, or a third of HeartbeatTimeout if
	// that is shorter; 1 ms to an hour. HeartbeatsOff, or another negative value:
	// this side sends none, and takes silence for nothing.
	HeartbeatInterval time.Duration

	// HeartbeatTimeout is how long a subscriber may be silent before its connection
	// is closed: counted in ticks of at most a quarter of HeartbeatInterval, and up to
	// one tick more. At least three intervals of the subscriber count; one that
	// sends no beats may be silent for ever. One that only does not
	// read is heard all the same. It must be longer than the largest
	// message takes to cross the network. Default 6 s, or three HeartbeatIntervals if
	// that is longer; at least two. HeartbeatsOff, or another negative value: never.
	HeartbeatTimeout time.Duration

	// MaxStall is how long a subscriber with the policy Block may take nothing of
	// what waits for it, or one with Disconnect whatever it asks for; then its
	// connection is closed. It is counted in ticks of at most a quarter of it, but at
	// least 10 ms, and up to one tick more. Default 0: for ever.
	MaxStall time.Duration
	// CacheMessages is how many of the newest messages of each tag the publisher
	// keeps, for those who subscribe late (SubscriptionConfig.Replay) and those
	// whose connection was lost. Default 0: none.
	CacheMessages int

	// CacheBytes is the memory for that, for all tags together. A message takes
	// 128 bytes for each begun 95 bytes of its payload, and at least 128; when
	// there is no more, the oldest messages go, whatever their tag, and a message
	// that needs more than all of it is not kept. Default 64 MiB.
	CacheBytes int

	// HelloTimeout is how long a new connection may take to say what it
	// wants. Default 5 s.
	HelloTimeout time.Duration

	// SubscribeTimeout is how long a connection may have no subscription: from its
	// hello until its first one has come whole, and from the end of its last one. It
	// is also how long the parts of a group of subscriptions may take to come.
	// Subscribers of this package leave by themselves. It is counted in quarters,
	// and up to one more. Default 10 s.
	SubscribeTimeout time.Duration

	// OnReady is called on the loop after ErrNoResources, when there is room
	// again: a quarter of a queue that was full, or memory of the pool.
	// Publishing may succeed again, though another tag's subscriber may have been
	// the one to make room. It must not block; it may publish.
	OnReady func()

	// OnEvent is called on the loop for every Event. It must not block and may
	// call any method that does not block.
	OnEvent func(Event)
}

func (c PublisherConfig) withDefaults() PublisherConfig {
	check.Default(&c.Listen, anyLoopbackPort())
	check.Default(&c.PageBytes, defaultPageBytes)
	check.Default(&c.MaxMessageBytes, defaultMaxMessageBytes)
	check.Default(&c.QueueBytes, max(defaultQueueBytes, c.messageMemory()))
	check.Default(&c.SubscriberBytes, maxLanes*c.QueueBytes)
	check.Default(&c.PoolBytes, max(defaultPoolBytes, c.QueueBytes+c.PageBytes))
	check.Default(&c.FlushInterval, defaultFlushInterval)
	check.Default(&c.MaxStreams, defaultMaxStreams)
	check.Default(&c.MaxSubscribers, DefaultMaxSubscribers)
	check.Default(&c.MaxSubscribersPerHost, max(1, c.MaxSubscribers-c.MaxSubscribers/4))
	check.Default(&c.HelloTimeout, defaultHelloTimeout)
	check.Default(&c.SubscribeTimeout, defaultSubscribeTimeout)
	setHeartbeat(&c.HeartbeatInterval, &c.HeartbeatTimeout)
	if c.CacheMessages != 0 {
		check.Default(&c.CacheBytes, defaultCacheBytes)
	}
	if c.OnEvent == nil {
		c.OnEvent = func(Event) {}
	}
	return c
}

// Validate reports all violations of c, joined; each wraps ErrInvalidConfig
// and names the field, its value and its limit.
func (c PublisherConfig) Validate() error {
	c = c.withDefaults()
	v := check.Violations{Kind: ErrInvalidConfig}
	if c.Tags.IsEmpty() {
		v.Add("Tags is empty: name the tags to publish")
	}
	v.Field("Tags", checkEntry(c.Tags))
	checkName(&v, c.Name)
	check.Within(&v, "PageBytes", c.PageBytes, minPageBytes, maxPageBytes)
	check.Within(&v, "MaxMessageBytes", c.MaxMessageBytes, 1, maxMessageBytes)
	check.Within(&v, "MaxStreams", c.MaxStreams, 1, 1<<16)
	check.Within(&v, "MaxSubscribers", c.MaxSubscribers, 1, 1<<20)
	check.Within(&v, "MaxSubscribersPerHost", c.MaxSubscribersPerHost, 1, 1<<20)
	check.Within(&v, "CacheMessages", c.CacheMessages, 0, maxCacheMessages)
	switch {
	case c.CacheMessages != 0:
		check.Within(&v, "CacheBytes", c.CacheBytes, minCacheBytes, maxCacheBytes)
	case c.CacheBytes != 0:
		v.Add("CacheBytes is %d, but nothing is kept: set CacheMessages", c.CacheBytes)
	}
	if v.Err() == nil {
		check.Within(&v, "QueueBytes", c.QueueBytes, c.messageMemory(), 1<<40)
		check.Within(&v, "SubscriberBytes", c.SubscriberBytes, c.QueueBytes, 1<<44)
		check.Within(&v, "PoolBytes", c.PoolBytes, c.QueueBytes+c.PageBytes, 1<<40)
	}
	if c.FlushInterval < FlushImmediately {
		v.Add("FlushInterval is %v, want a positive duration or FlushImmediately", c.FlushInterval)
	}
	v.Positive("HelloTimeout", c.HelloTimeout)
	v.Positive("SubscribeTimeout", c.SubscribeTimeout)
	checkHeartbeat(&v, c.HeartbeatInterval, c.HeartbeatTimeout)
	if c.MaxStall != 0 && c.MaxStall < time.Millisecond {
		v.Add("MaxStall is %v, want at least 1ms, or 0 for ever", c.MaxStall)
	}
	return v.Err()
}

// messageMemory returns the page memory that the largest message takes.
func (c *PublisherConfig) messageMemory() int {
	n := c.PageBytes
	return (wire.HeaderBytes + wire.MaxOverhead + c.MaxMessageBytes + n - 1) / n * n
}
