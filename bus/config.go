// SPDX-License-Identifier: Apache-2.0

package bus

import (
	"math"
	"net/netip"
	"time"

	"tagbus/bus/internal/wire"
	"tagbus/internal/validate"
	"tagbus/subscription"
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

// Heartbeats.
const (
	defaultHeartbeatInterval = 2 * time.Second
	defaultHeartbeatTimeout  = 6 * time.Second
	maxHeartbeatInterval     = time.Hour
)

// HeartbeatsOff is the HeartbeatInterval of a side that sends no heartbeats and ignores
// silence, and the HeartbeatTimeout of a side that only sends them.
const HeartbeatsOff time.Duration = -1

// mostFraming is the most that a page of one message takes beyond the payload: the policies
// Latest and Sample number their messages.
const mostFraming = wire.HeaderBytes + wire.MaxOverhead + wire.PositionBytes

// frameBytes returns the size of the largest transport message that a
// publisher of these sizes sends.
func frameBytes(pageBytes, maxMessage int) int {
	return max(pageBytes, mostFraming+maxMessage, smallestMaxMessage)
}

// anyLoopbackPort is the default of Listen.
func anyLoopbackPort() netip.AddrPort {
	return netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 0, 0, 1}), 0)
}

func checkName(v *validate.Violations, name string) {
	if len(name) > maxNameBytes {
		v.Add("Name has %d bytes, want at most %d", len(name), maxNameBytes)
	}
}

// setHeartbeat fills in the defaults of the heartbeats of a configuration: each
// of the two follows the other one if only that is set.
func setHeartbeat(interval, timeout *time.Duration) {
	if *interval == 0 {
		*interval = defaultHeartbeatInterval
		if *timeout > 0 {
			*interval = max(time.Millisecond, min(*interval, *timeout/3))
		}
	}
	validate.Default(timeout, max(defaultHeartbeatTimeout, 3*max(0, min(*interval, maxHeartbeatInterval))))
}

// checkHeartbeat checks the heartbeats of a configuration.
func checkHeartbeat(v *validate.Violations, interval, timeout time.Duration) {
	if interval >= 0 && (interval < time.Millisecond || interval > maxHeartbeatInterval) {
		v.Add("HeartbeatInterval is %v, want 1ms to %v, or HeartbeatsOff", interval, maxHeartbeatInterval)
	}
	if timeout > validate.MaxDuration {
		v.Add("HeartbeatTimeout is %v, want at most %v, or HeartbeatsOff", timeout, validate.MaxDuration)
	}
	if interval > 0 && interval <= maxHeartbeatInterval && timeout >= 0 && timeout/2 < interval {
		v.Add("HeartbeatTimeout is %v, want at least twice HeartbeatInterval, %v, or HeartbeatsOff", timeout, 2*interval)
	}
}

// minGuests is the least limit of connections that are not subscribers: those that have
// not said hello, and refused ones that have not read the reason yet. The limit is
// otherwise that of subscribers, since all of them come at once when a publisher
// starts.
const minGuests = 1024
