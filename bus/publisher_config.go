package bus

import (
	"errors"
	"fmt"
	"net/netip"
	"time"

	"tagbus/bus/internal/cache"
	"tagbus/bus/internal/wire"
	"tagbus/subscription"
	"tagbus/tags"
)

// Defaults of PublisherConfig.
const (
	// DefaultPageBytes is two full TCP segments on the loopback device: a page
	// just above a segment travels as a large and a tiny packet.
	DefaultPageBytes        = 2 * 65450
	DefaultQueueBytes       = 4 << 20
	DefaultPoolBytes        = 64 << 20
	DefaultMaxMessageBytes  = 1 << 20
	DefaultFlushInterval    = time.Millisecond
	DefaultHelloTimeout     = 5 * time.Second
	DefaultSubscribeTimeout = 10 * time.Second
	DefaultMaxStreams       = 64
	DefaultMaxSubscribers   = 4096
	DefaultCacheBytes       = 64 << 20
)

// FlushImmediately is the PublisherConfig.FlushInterval that sends a page as
// soon as the connection can take it: lowest latency. Messages are still
// coalesced while a connection is busy.
const FlushImmediately time.Duration = -1

// Limits of PublisherConfig.
const (
	minPageBytes       = 256
	maxPageBytes       = 16 << 20
	maxMessageBytes    = 1<<30 - 1 - wire.HeaderBytes - wire.MaxOverhead
	maxControlQueue    = 4 << 20 // bytes of answers queued for one subscriber
	maxCacheMessages   = 1 << 20
	minCacheBytes      = 4096
	maxCacheBytes      = (1<<32 - 2) * cache.BlockBytes
	controlBuffers     = 8
	maxInFlight        = 64 // pages and control messages given to the endpoint
	maxLanes           = 16
	maxRemovedTags     = 1 << 20 // that a publisher remembers
	maxInFlightPages   = 4       // of which full pages: more only leaves the cache
	smallestMaxMessage = subscription.MaxControlBytes
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
	setDefault(&c.Listen, netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 0, 0, 1}), 0))
	setDefault(&c.PageBytes, DefaultPageBytes)
	setDefault(&c.MaxMessageBytes, DefaultMaxMessageBytes)
	setDefault(&c.QueueBytes, max(DefaultQueueBytes, c.messageMemory()))
	setDefault(&c.SubscriberBytes, maxLanes*c.QueueBytes)
	setDefault(&c.PoolBytes, max(DefaultPoolBytes, c.QueueBytes+c.PageBytes))
	setDefault(&c.FlushInterval, DefaultFlushInterval)
	setDefault(&c.MaxStreams, DefaultMaxStreams)
	setDefault(&c.MaxSubscribers, DefaultMaxSubscribers)
	setDefault(&c.MaxSubscribersPerHost, max(1, c.MaxSubscribers-c.MaxSubscribers/4))
	setDefault(&c.HelloTimeout, DefaultHelloTimeout)
	setDefault(&c.SubscribeTimeout, DefaultSubscribeTimeout)
	setHeartbeat(&c.HeartbeatInterval, &c.HeartbeatTimeout)
	if c.CacheMessages != 0 {
		setDefault(&c.CacheBytes, DefaultCacheBytes)
	}
	if c.OnEvent == nil {
		c.OnEvent = func(Event) {}
	}
	return c
}

func setDefault[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}

// Validate reports all violations of c, joined; each wraps ErrInvalidConfig
// and names the field, its value and its limit.
func (c PublisherConfig) Validate() error {
	c = c.withDefaults()
	var v violations
	if c.Tags.IsEmpty() {
		v.add("Tags is empty: name the tags to publish")
	}
	v.entry("Tags", c.Tags)
	if len(c.Name) > 255 {
		v.add("Name has %d bytes, want at most 255", len(c.Name))
	}
	v.within("PageBytes", c.PageBytes, minPageBytes, maxPageBytes)
	v.within("MaxMessageBytes", c.MaxMessageBytes, 1, maxMessageBytes)
	v.within("MaxStreams", c.MaxStreams, 1, 1<<16)
	v.within("MaxSubscribers", c.MaxSubscribers, 1, 1<<20)
	v.within("MaxSubscribersPerHost", c.MaxSubscribersPerHost, 1, 1<<20)
	v.within("CacheMessages", c.CacheMessages, 0, maxCacheMessages)
	switch {
	case c.CacheMessages != 0:
		v.within("CacheBytes", c.CacheBytes, minCacheBytes, maxCacheBytes)
	case c.CacheBytes != 0:
		v.add("CacheBytes is %d, but nothing is kept: set CacheMessages", c.CacheBytes)
	}
	if len(v) == 0 {
		v.within("QueueBytes", c.QueueBytes, c.messageMemory(), 1<<40)
		v.within("SubscriberBytes", c.SubscriberBytes, c.QueueBytes, 1<<44)
		v.within("PoolBytes", c.PoolBytes, c.QueueBytes+c.PageBytes, 1<<40)
	}
	if c.FlushInterval < FlushImmediately {
		v.add("FlushInterval is %v, want a positive duration or FlushImmediately", c.FlushInterval)
	}
	if c.HelloTimeout < 0 {
		v.add("HelloTimeout is %v, want a positive duration", c.HelloTimeout)
	}
	if c.SubscribeTimeout < 0 {
		v.add("SubscribeTimeout is %v, want a positive duration", c.SubscribeTimeout)
	}
	v.heartbeat(c.HeartbeatInterval, c.HeartbeatTimeout)
	if c.MaxStall != 0 && c.MaxStall < time.Millisecond {
		v.add("MaxStall is %v, want at least 1ms, or 0 for ever", c.MaxStall)
	}
	return errors.Join(v...)
}

// messageMemory returns the page memory that the largest message takes.
func (c *PublisherConfig) messageMemory() int {
	n := c.PageBytes
	return (wire.HeaderBytes + wire.MaxOverhead + c.MaxMessageBytes + n - 1) / n * n
}

// frameBytes returns the size of the largest transport message that a
// publisher of these sizes sends.
func frameBytes(pageBytes, maxMessage int) int {
	return max(pageBytes, wire.HeaderBytes+wire.MaxOverhead+maxMessage, smallestMaxMessage)
}

// violations collects what is wrong with a configuration.
type violations []error

func (v *violations) add(format string, args ...any) {
	*v = append(*v, fmt.Errorf("%w: %s", ErrInvalidConfig, fmt.Sprintf(format, args...)))
}

func (v *violations) within(field string, got, lo, hi int) {
	if got < lo || got > hi {
		v.add("%s is %d, want %d to %d", field, got, lo, hi)
	}
}
