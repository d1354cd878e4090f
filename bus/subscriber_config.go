// SPDX-License-Identifier: Apache-2.0

package bus

import (
	"net/netip"
	"time"

	"tagbus/internal/validate"
)

// Defaults of SubscriberConfig.
const (
	defaultMaxReceiveBytes = 64 << 20
	defaultQueueLimitBytes = 8 << 20
	defaultRetainBytes     = 64 << 20
	subscribeBuffers       = 4
)

// SubscriberConfig says how a Subscriber works. The zero value is good.
type SubscriberConfig struct {
	// Name is shown to the operators of publishers. At most 255 bytes.
	Name string

	// Access decides whose messages of which tags are taken. Default: all.
	Access Access

	// Monitor is where this process serves metrics and its state by HTTP; see
	// PublisherConfig.Monitor. Default: none.
	Monitor netip.AddrPort

	// Unlisted keeps the subscriber from announcing itself among the clients of the
	// directory (directory.WithClients), where operators see that it is there though it is
	// connected to no publisher. Nothing depends on that: a directory that may not be written
	// lists no clients. Default: it is listed.
	Unlisted bool

	// MaxMessageBytes is the largest message or page accepted. A publisher
	// that announces more is refused with an event. Default 64 MiB. Memory is
	// taken as bytes arrive, not in advance.
	MaxMessageBytes int

	// QueueBytes is how much a subscription without handler holds for
	// Subscription.Messages: payload, and 64 bytes for each message. Beyond that, a
	// subscription whose policy may lose messages loses some (ErrQueueFull). One with
	// Block or Disconnect stops reading from its publishers. Messages that are being
	// read count apart. Default 8 MiB.
	QueueBytes int

	// RetainBytes is how much memory Message.Retain may keep, including the memory
	// around the messages and 64 bytes for each. Default 64 MiB.
	RetainBytes int

	// ReconnectMin and ReconnectMax bound the delay before a lost or refused
	// connection is tried again. It grows exponentially and is spread at
	// random. Defaults 100 ms and 5 s.
	ReconnectMin, ReconnectMax time.Duration

	// HeartbeatInterval is the longest time without a message to a publisher; after it
	// a heartbeat is sent. Default 2 s, or a third of HeartbeatTimeout if that is
	// shorter; 1 ms to an hour. If the publisher has a longer interval, that one
	// counts, up to 30 s. HeartbeatsOff, or another negative value: this side sends no
	// heartbeats and ignores silence.
	HeartbeatInterval time.Duration

	// HeartbeatTimeout closes the connection to a publisher that sends nothing for this
	// long. The check runs at least four times per HeartbeatInterval, so the end may
	// come one such tick later. The timeout is never shorter than three of the
	// publisher's own intervals. A publisher without heartbeats is never timed out.
	// Time in which a full queue keeps this side from reading does not count. The
	// timeout must exceed the time that the largest message takes to cross the network.
	// Default 6 s, or three HeartbeatIntervals if that is longer; at least two.
	// HeartbeatsOff, or another negative value: never.
	HeartbeatTimeout time.Duration

	// OnEvent is called on the loop for every Event. It must not block and may
	// call any method that does not block.
	OnEvent func(Event)
}

func (c SubscriberConfig) withDefaults() SubscriberConfig {
	validate.Default(&c.MaxMessageBytes, defaultMaxReceiveBytes)
	validate.Default(&c.QueueBytes, defaultQueueLimitBytes)
	validate.Default(&c.RetainBytes, defaultRetainBytes)
	setReconnect(&c.ReconnectMin, &c.ReconnectMax)
	setHeartbeat(&c.HeartbeatInterval, &c.HeartbeatTimeout)
	if c.OnEvent == nil {
		c.OnEvent = func(Event) {}
	}
	return c
}

// Validate reports all violations of c, joined; each wraps ErrInvalidConfig
// and names the field, its value and its limit.
func (c SubscriberConfig) Validate() error {
	c = c.withDefaults()
	v := validate.Violations{Kind: ErrInvalidConfig}
	checkName(&v, c.Name)
	validate.Within(&v, "MaxMessageBytes", c.MaxMessageBytes, smallestMaxMessage, 1<<31-1)
	validate.Within(&v, "QueueBytes", c.QueueBytes, 1, maxBytes)
	validate.Within(&v, "RetainBytes", c.RetainBytes, 1, maxBytes)
	checkReconnect(&v, c.ReconnectMin, c.ReconnectMax)
	checkHeartbeat(&v, c.HeartbeatInterval, c.HeartbeatTimeout)
	checkMonitor(&v, c.Monitor)
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

	// Timeout is how long the subscription waits for the first acknowledgement by a
	// publisher. Without one it ends with a *NoPublisherError and a Problem event.
	// Default 0: for ever.
	Timeout time.Duration
}

// lane returns what the publisher sees of the configuration all the time:
// subscriptions that have it in common share a lane. Replay matters only at the
// start.
func (c SubscriptionConfig) lane() SubscriptionConfig {
	c.Replay, c.Duplicates, c.Timeout = 0, 0, 0
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
