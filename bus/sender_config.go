// SPDX-License-Identifier: Apache-2.0

package bus

import (
	"net/netip"
	"time"

	"tagbus/internal/validate"
	"tagbus/tags"
)

// SenderConfig says how a Sender sends. The zero value is good. Fields that a
// PublisherConfig has too mean the same here.
type SenderConfig struct {
	// Tags are the tags that may be sent to. The receivers that own them are dialed at
	// once. Default: any tag; its receiver is dialed at the first use.
	Tags tags.Set

	// Name is shown to the operators of receivers. At most 255 bytes.
	Name string

	// Access decides which receivers get messages. Default: all.
	Access Access

	// Monitor and Unlisted are those of SubscriberConfig.
	Monitor  netip.AddrPort
	Unlisted bool

	// PageBytes is the size of a page, 256 B to 16 MiB. Default 130,900.
	PageBytes int

	// QueueBytes is how many bytes of messages, as they are sent, may wait for one
	// receiver: the most that a slow one can be behind. At least MaxMessageBytes. Default 4 MiB.
	QueueBytes int

	// PoolBytes is the memory for all messages that wait. At least QueueBytes + PageBytes.
	// Default 64 MiB.
	PoolBytes int

	// MaxMessageBytes is the largest payload of one message. Default 1 MiB.
	MaxMessageBytes int

	// FlushInterval is how long a page that is not full waits for more messages; see
	// PublisherConfig. Default 0. SendAcked does not wait for it.
	FlushInterval time.Duration

	// Policies are the kinds of policies that receivers may choose. Others are
	// refused. Default: all.
	Policies []PolicyKind

	// ReconnectMin and ReconnectMax bound the delay before a lost or refused
	// connection is tried again. Defaults 100 ms and 5 s.
	ReconnectMin, ReconnectMax time.Duration

	// HeartbeatInterval and HeartbeatTimeout are those of SubscriberConfig, with
	// receivers for publishers. Defaults 2 s and 6 s.
	HeartbeatInterval, HeartbeatTimeout time.Duration

	// MaxStall closes the connection of a receiver with a lossless policy that takes no
	// waiting message for this long. Default 0: never.
	MaxStall time.Duration

	// CacheMessages is how many of the newest messages of each tag the sender keeps for
	// a receiver whose connection is lost. Messages that it missed are sent again if
	// its policy is lossless and no other receiver owned the tag meanwhile. Default 0:
	// none; missed messages are reported to the receiver as lost.
	CacheMessages int

	// CacheBytes is the memory for that, for all tags together. Default 64 MiB.
	CacheBytes int

	// OnReady is called on the loop after ErrNoResources, when there is room
	// again, as PublisherConfig.OnReady is. It must not block; it may send.
	OnReady func()

	// OnEvent is called on the loop for every Event. It must not block and may
	// call any method that does not block.
	OnEvent func(Event)
}

func (c SenderConfig) withDefaults() SenderConfig {
	setReconnect(&c.ReconnectMin, &c.ReconnectMax)
	return c
}

// publisher returns the configuration of the part that queues and sends.
func (c SenderConfig) publisher() PublisherConfig {
	set := c.Tags
	if set.IsEmpty() {
		set = tags.Everything()
	}
	return PublisherConfig{
		Tags: set, Name: c.Name, Access: c.Access, Monitor: c.Monitor, PageBytes: c.PageBytes, QueueBytes: c.QueueBytes, PoolBytes: c.PoolBytes,
		MaxMessageBytes: c.MaxMessageBytes, FlushInterval: c.FlushInterval, Policies: c.Policies,
		HeartbeatInterval: c.HeartbeatInterval, HeartbeatTimeout: c.HeartbeatTimeout, MaxStall: c.MaxStall,
		CacheMessages: c.CacheMessages, CacheBytes: c.CacheBytes,
		MaxSubscribers: maxReceivers, OnReady: c.OnReady, OnEvent: c.OnEvent,
	}
}

// maxReceivers does not bind: a sender dials only what it uses.
const maxReceivers = 1 << 20

// Validate reports all violations of c, joined; each wraps ErrInvalidConfig
// and names the field, its value and its limit.
func (c SenderConfig) Validate() error {
	c = c.withDefaults()
	v := validate.Violations{Kind: ErrInvalidConfig}
	v.Join(c.publisher().Validate())
	checkReconnect(&v, c.ReconnectMin, c.ReconnectMax)
	return v.Err()
}
