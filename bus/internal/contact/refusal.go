// SPDX-License-Identifier: Apache-2.0

package contact

import (
	"net/netip"
	"strings"

	"tagbus/bus/directory"
	"tagbus/internal/sanitize"
)

// NoWay says that a peer has other backends than this program, or none that the two can use.
type NoWay struct {
	Role   directory.Role // of the entry
	Theirs string         // the backends of the entry
	Ours   string         // the backends of this program
	Err    error          // of the way within the host that both have; nil: the peer is elsewhere, or there is none
}

// Text says what both speak, and what to do.
func (x NoWay) Text() string {
	them, us := "publisher", "subscriber"
	if x.Role == directory.Receiver {
		them, us = "receiver", "sender"
	}
	text := sanitize.Linef("bus: %s speaks %q, this %s %q: use the same backend for both, here %q (node.Config.Backend)",
		them, x.Theirs, us, x.Ours, x.Theirs)
	if x.Err != nil {
		text += sanitize.Linef("; %s", sanitize.Error(x.Err))
	}
	return text
}

// Loopback says that a peer announces itself to its own host only, which is not that of this side.
type Loopback struct {
	Role      directory.Role   // of the entry
	Host      string           // of the entry
	Ours      string           // this host
	Addresses []netip.AddrPort // addresses of the entry
	Err       error            // why the try failed
}

// Text names both hosts and the addresses, and says what to do at the other one.
func (x Loopback) Text() string {
	them, config := "publisher", "PublisherConfig"
	if x.Role == directory.Receiver {
		them, config = "receiver", "ReceiverConfig"
	}
	var all []string
	for _, addr := range x.Addresses {
		all = append(all, addr.String())
	}
	return sanitize.Linef("bus: the %s is on host %s and announces only %s, which no other host can reach; this is host %s: set %s.Listen to an address that this host can reach: %v",
		them, sanitize.Text(x.Host), strings.Join(all, ", "), sanitize.Text(x.Ours), config, x.Err)
}
