// SPDX-License-Identifier: Apache-2.0

package bus

import (
	"fmt"
	"net/netip"
	"time"

	"tagbus/bus/directory"
	"tagbus/bus/internal/hostaddr"
	"tagbus/internal/validate"
	"tagbus/tags"
)

// defaultMaxSenders is ReceiverConfig.MaxSenders unless set.
const defaultMaxSenders = 4096

// ReceiverConfig says how a Receiver receives. Only Tags has no default.
type ReceiverConfig struct {
	// Tags are the tags that this receiver owns. No other receiver has one of
	// them at the same time.
	Tags tags.Set

	// Name is shown to the operators of senders. At most 255 bytes.
	Name string

	// Access decides which peers may send, and ask for the state of this instance.
	// Default: all may.
	Access Access

	// Listen is the local address to listen on. Default 127.0.0.1 and a port
	// that the system picks, which no other host can reach.
	Listen netip.AddrPort

	// Advertise are the addresses announced to senders instead; see PublisherConfig.
	// Default: Listen with the real port; if Listen is unspecified (0.0.0.0 or ::), every
	// address of the host's interfaces.
	Advertise []netip.AddrPort

	// Monitor is where this process serves metrics and its state by HTTP; see
	// PublisherConfig. Default: none.
	Monitor netip.AddrPort

	// Subscription says how the senders treat this receiver when it is slow. The
	// zero value makes them wait, and loses nothing while a connection lives. Its
	// Duplicates and Timeout must be zero: several senders may send to a tag, at
	// any time.
	Subscription SubscriptionConfig

	// MaxMessageBytes is the largest message or page accepted. A sender with a larger
	// MaxMessageBytes or PageBytes is refused. Default 64 MiB. Memory is taken as bytes
	// arrive, not in advance.
	MaxMessageBytes int

	// QueueBytes is how much a receiver without handler holds for Messages before
	// it stops reading from its senders. Default 8 MiB.
	QueueBytes int

	// RetainBytes is how much memory Message.Retain may keep; see
	// SubscriberConfig. Default 64 MiB.
	RetainBytes int

	// MaxSenders is the largest number of connections. A further one is refused, unless
	// a connection that has sent nothing gives way: the oldest of the address that has
	// most of these. One address, other than a loopback address, has at most three
	// quarters of them. Default 4096.
	MaxSenders int

	// HeartbeatInterval and HeartbeatTimeout are those of PublisherConfig, with
	// senders for subscribers. Defaults 2 s and 6 s.
	HeartbeatInterval, HeartbeatTimeout time.Duration

	// OnEvent is called on the loop for every Event. It must not block and may
	// call any method that does not block.
	OnEvent func(Event)

	host hostaddr.Host // whose addresses are announced; set by tests only
}

func (c ReceiverConfig) withDefaults() ReceiverConfig {
	validate.Default(&c.Listen, anyLoopbackPort())
	validate.Default(&c.MaxSenders, defaultMaxSenders)
	if c.host == nil {
		c.host = hostaddr.System
	}
	return c
}

// subscriber returns the configuration of the part that counts and delivers.
func (c ReceiverConfig) subscriber() SubscriberConfig {
	return SubscriberConfig{
		Name: c.Name, Access: c.Access, MaxMessageBytes: c.MaxMessageBytes, QueueBytes: c.QueueBytes, RetainBytes: c.RetainBytes,
		HeartbeatInterval: c.HeartbeatInterval, HeartbeatTimeout: c.HeartbeatTimeout,
		OnEvent: c.OnEvent,
	}
}

// Validate reports all violations of c, joined; each wraps ErrInvalidConfig
// and names the field, its value and its limit.
func (c ReceiverConfig) Validate() error {
	c = c.withDefaults()
	v := validate.Violations{Kind: ErrInvalidConfig}
	v.Join(c.subscriber().Validate())
	if c.Tags.IsEmpty() {
		v.Add("Tags is empty: name the tags to receive")
	}
	v.Field("Tags", checkEntry(c.Tags))
	checkAdvertise(&v, c.Advertise)
	checkMonitor(&v, c.Monitor)
	if err := c.Subscription.Validate(); err != nil {
		v.Join(fmt.Errorf("Subscription: %w", err))
	}
	if c.Subscription.Duplicates != DuplicatesAll {
		v.Add("Subscription.Duplicates is %d, want %d: a receiver takes what all senders of a tag send", c.Subscription.Duplicates, DuplicatesAll)
	}
	if c.Subscription.Timeout != 0 {
		v.Add("Subscription.Timeout is %v, want 0: a receiver waits for senders for ever", c.Subscription.Timeout)
	}
	if c.MaxMessageBytes != 0 { // else the default, or it is reported above
		validate.Within(&v, "MaxMessageBytes", c.MaxMessageBytes, smallestMaxMessage, directory.MaxSizeBytes)
	}
	validate.Within(&v, "MaxSenders", c.MaxSenders, 1, 1<<20)
	return v.Err()
}
