// SPDX-License-Identifier: Apache-2.0

package bus

import (
	"math"
	"net/netip"
	"time"

	"tagbus/bus/directory"
	"tagbus/bus/internal/advertise"
	"tagbus/bus/internal/fanout"
	"tagbus/bus/internal/heartbeat"
	"tagbus/bus/internal/hostaddr"
	"tagbus/internal/validate"
	"tagbus/subscription"
	"tagbus/tags"
)

// What the configurations of publishers, subscribers, senders and receivers have
// in common.

// Limits that both ends keep.
const (
	maxNameBytes       = 255
	maxCacheMessages   = 1 << 20
	maxLanes           = 16 // of a connection
	smallestMaxMessage = subscription.MaxControlBytes

	// maxBytes is the largest bound in bytes, as far as the machine can count.
	maxBytes = min(1<<40, math.MaxInt)
)

// Times that no configuration changes.
const (
	// helloTimeout is how long the peer of a new connection may take to say hello.
	helloTimeout = 5 * time.Second

	// subscribeTimeout is how long a connection may have no subscription: from its
	// hello until its first one is complete, and from the end of its last one. It also
	// bounds the time until a group of subscriptions is complete. Subscribers of this
	// package leave by themselves. It is counted in quarters, so the end may come a
	// quarter later.
	subscribeTimeout = 10 * time.Second

	// senderAbsence is how long a sender may take to come back after its connection is
	// lost. Then a Vanished event says that it is gone for good.
	senderAbsence = 15 * time.Second
)

// shareOfHost returns how many of all connections may come from one address, so that one
// host cannot take all places. It does not bind loopback addresses.
func shareOfHost(all int) int { return max(1, all-all/4) }

// HeartbeatsOff is the HeartbeatInterval of a side that sends no heartbeats and ignores
// silence, and the HeartbeatTimeout of a side that only sends them.
const HeartbeatsOff time.Duration = -1

// minGuests is the least limit of connections that are not subscribers: those that have
// not said hello, and refused ones that have not read the reason yet. The limit is
// otherwise that of subscribers, since all of them come at once when a publisher
// starts.
const minGuests = 1024

// Defaults of what several configurations have in common.
const (
	// defaultPageBytes is two full TCP segments on the loopback device: a page
	// just above a segment travels as a large and a tiny packet.
	defaultPageBytes       = 2 * 65450
	defaultSendQueueBytes  = 4 << 20
	defaultPoolBytes       = 64 << 20
	defaultMaxMessageBytes = 1 << 20
	defaultCacheBytes      = 64 << 20

	defaultMaxReceiveBytes   = 64 << 20
	defaultReceiveQueueBytes = 8 << 20
	defaultRetainBytes       = 64 << 20

	defaultReconnectMin = 100 * time.Millisecond
	defaultReconnectMax = 5 * time.Second
)

// Common is the part of a configuration that all roles have. A peer is the program at
// the other end of a connection.
type Common struct {
	// Name is shown to operators, here and at peers. Default: empty. At most 255 bytes.
	Name string

	// Access decides which peers are let in, which tags they get or send, and which may
	// ask for the state of this instance. Default: all may.
	Access Access

	// Monitor is where this process serves metrics and its state by HTTP, as commands of
	// this module do with --metrics. It is announced for those that look after the bus,
	// and nothing is sent there. An unspecified IP (0.0.0.0 or ::) stands for the first
	// announced address. Default: none.
	Monitor netip.AddrPort

	// HeartbeatInterval is the longest time without a message to a peer; after it a
	// heartbeat is sent. Default 2 s, or a third of HeartbeatTimeout if that is shorter;
	// 1 ms to an hour. HeartbeatsOff, or another negative value: this side sends no
	// heartbeats and ignores silence.
	//
	// A Subscriber or Sender takes over the longer interval of its peer, up to 30 s. A
	// Publisher or Receiver with more than 500 peers has a longer interval for a new one,
	// as long as its connection lasts. The n-th has HeartbeatInterval × (n/500)², but at
	// most 30 s, or HeartbeatInterval if that is longer.
	HeartbeatInterval time.Duration

	// HeartbeatTimeout closes the connection of a peer that sends nothing for this long.
	// The check runs at least four times per HeartbeatInterval, so the end may come one
	// such tick later. The timeout is never shorter than three of the peer's own
	// intervals, or of this side's for that peer. A peer without heartbeats is never
	// timed out. One that only stops reading still sends heartbeats. Time in which a full
	// queue keeps this side from reading does not count. The timeout must exceed the time
	// that the largest message takes to cross the network. Default 6 s, or three
	// HeartbeatIntervals if that is longer; at least two. HeartbeatsOff, or another
	// negative value: never.
	HeartbeatTimeout time.Duration

	// OnEvent is called on the loop for every Event. It must not block and may
	// call any method that does not block.
	OnEvent func(Event)
}

func (c *Common) setDefaults() {
	heartbeat.SetDefaults(&c.HeartbeatInterval, &c.HeartbeatTimeout)
	if c.OnEvent == nil {
		c.OnEvent = func(Event) {}
	}
}

func (c *Common) check(v *validate.Violations) {
	if len(c.Name) > maxNameBytes {
		v.Add("Name has %d bytes, want at most %d", len(c.Name), maxNameBytes)
	}
	if reason := advertise.CheckMonitor(c.Monitor); reason != "" {
		v.Add("Monitor is %v, which %s", c.Monitor, reason)
	}
	heartbeat.Check(v, c.HeartbeatInterval, c.HeartbeatTimeout)
}

// Listening is the part of a configuration that says where a Publisher or a Receiver is
// reached.
type Listening struct {
	// Listen is the local address to listen on. Default 127.0.0.1 and a port
	// that the system picks, which no other host can reach: set the address of
	// the network that carries the data.
	Listen netip.AddrPort

	// Advertise are the addresses announced to peers instead, in the order in
	// which they are tried: those of a host whose containers have other ones, or of a
	// router that translates. Port 0 is the port that was bound. At most 64. Default:
	// Listen with the real port; if Listen is unspecified (0.0.0.0 or ::), the addresses
	// of the host's interfaces that others may dial, as they change (adr/0028).
	Advertise []netip.AddrPort

	// Also are other places to listen at, of a program with several backends. Each backend
	// listens at Listen, or at those of these that name it, and one within the host at a name that it chooses.
	// At most 64.
	Also []Listener

	host hostaddr.Host // whose addresses are announced; set by tests only
}

func (c *Listening) setDefaults() {
	validate.Default(&c.Listen, netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 0, 0, 1}), 0))
	if c.host == nil {
		c.host = hostaddr.System
	}
}

func (c *Listening) check(v *validate.Violations) {
	checkAdvertise(v, c.Advertise)
	if n := len(c.Also); n > directory.MaxAddresses {
		v.Add("Also has %d places, want at most %d", n, directory.MaxAddresses)
		return
	}
	for i, at := range c.Also {
		if at.Backend == "" || !at.Listen.IsValid() {
			v.Add("Also[%d] is %q at %v, want a backend and an address", i, at.Backend, at.Listen)
		}
		checkAdvertise(v, at.Advertise)
	}
}

// Listener is a place to listen at.
type Listener struct {
	Backend   string           // its name: "tcp", "rdma:verbs@mlx5_0"; "rdma:verbs" is the device that has the address, or all at 0.0.0.0
	Listen    netip.AddrPort   // as Listening.Listen
	Advertise []netip.AddrPort // as Listening.Advertise
}

// Dialing is the part of a configuration that says how a Subscriber or a Sender comes to
// its peers.
type Dialing struct {
	// Unlisted keeps this side from announcing itself among the clients of the
	// directory (directory.WithClients), where operators see that it is there though it is
	// connected to no peer. Nothing depends on that: a directory that may not be written
	// lists no clients. Default: it is listed.
	Unlisted bool

	// ReconnectMin and ReconnectMax bound the delay before a lost or refused
	// connection is tried again. It grows exponentially and is spread at
	// random. Defaults 100 ms and 5 s.
	ReconnectMin, ReconnectMax time.Duration
}

func (c *Dialing) setDefaults() {
	validate.Default(&c.ReconnectMin, defaultReconnectMin)
	validate.Default(&c.ReconnectMax, max(defaultReconnectMax, c.ReconnectMin))
}

func (c *Dialing) check(v *validate.Violations) {
	if c.ReconnectMin < time.Millisecond || c.ReconnectMax < c.ReconnectMin || c.ReconnectMax > validate.MaxDuration {
		v.Add("ReconnectMin %v and ReconnectMax %v, want 1ms <= min <= max <= %v", c.ReconnectMin, c.ReconnectMax, validate.MaxDuration)
	}
}

// Receiving is the part of a configuration that bounds what a Subscriber or a Receiver
// takes.
type Receiving struct {
	// MaxMessageBytes is the largest message or page accepted. A peer that announces more
	// is refused with an event. Default 64 MiB. Memory is taken as bytes arrive, not in
	// advance.
	MaxMessageBytes int

	// QueueBytes is how much a subscription without handler holds for Messages: payload,
	// and 64 bytes for each message. Beyond that, a subscription whose policy may lose
	// messages loses some (ErrQueueFull). One with Block or Disconnect stops reading from
	// its peers. Messages that are being read count apart. Default 8 MiB.
	QueueBytes int

	// RetainBytes is how much memory Message.Retain may keep, including the memory
	// around the messages and 64 bytes for each. Default 64 MiB.
	RetainBytes int
}

func (c *Receiving) setDefaults() {
	validate.Default(&c.MaxMessageBytes, defaultMaxReceiveBytes)
	validate.Default(&c.QueueBytes, defaultReceiveQueueBytes)
	validate.Default(&c.RetainBytes, defaultRetainBytes)
}

// check takes a MaxMessageBytes of at most most.
func (c *Receiving) check(v *validate.Violations, most int) {
	validate.Within(v, "MaxMessageBytes", c.MaxMessageBytes, smallestMaxMessage, most)
	validate.Within(v, "QueueBytes", c.QueueBytes, 1, maxBytes)
	validate.Within(v, "RetainBytes", c.RetainBytes, 1, maxBytes)
}

// checkTags checks the tags of a Publisher or a Receiver.
func checkTags(v *validate.Violations, set tags.Set, purpose string) {
	if set.IsEmpty() {
		v.Add("Tags is empty: name the tags to %s", purpose)
	}
	v.Field("Tags", checkEntry(set))
}

// frameBytes returns the size of the largest transport message that a
// publisher of these sizes sends.
func frameBytes(pageBytes, maxMessage int) int {
	return max(pageBytes, fanout.MostFraming+maxMessage, smallestMaxMessage)
}
