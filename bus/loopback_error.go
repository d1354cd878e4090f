// SPDX-License-Identifier: Apache-2.0

package bus

import (
	"net/netip"
	"strings"

	"tagbus/bus/directory"
	"tagbus/internal/sanitize"
)

// LoopbackError is the cause of a Refused event: the entry in the directory is of another
// host and has loopback addresses only. These lead back to this host, so every try fails.
// The event comes again, after pauses that grow from 10 s to 10 min, while it lasts.
type LoopbackError struct {
	Role      directory.Role   // of the entry
	Host      string           // of the entry
	Ours      string           // this host
	Addresses []netip.AddrPort // addresses of the entry
	Err       error            // why the try failed
}

// Error names both hosts and the addresses, and says what to do at the other one.
func (e *LoopbackError) Error() string {
	them, config := "publisher", "PublisherConfig"
	if e.Role == directory.Receiver {
		them, config = "receiver", "ReceiverConfig"
	}
	var all []string
	for _, addr := range e.Addresses {
		all = append(all, addr.String())
	}
	return sanitize.Linef("bus: the %s is on host %s and announces only %s, which no other host can reach; this is host %s: set %s.Listen to an address that this host can reach: %v",
		them, sanitize.Text(e.Host), strings.Join(all, ", "), sanitize.Text(e.Ours), config, e.Err)
}

// Unwrap returns why the try failed.
func (e *LoopbackError) Unwrap() error { return e.Err }

// explain returns the error of a try to connect: a *LoopbackError if the reason is that
// the peer announces itself to its own host only.
func (c *peerContact) explain(err error) error {
	if c.entry.Host == "" || c.host == "" || c.entry.Host == c.host || len(c.Addresses) == 0 {
		return err
	}
	for _, addr := range c.Addresses {
		if !addr.Addr().Unmap().IsLoopback() {
			return err
		}
	}
	return &LoopbackError{Role: c.entry.Role, Host: c.entry.Host, Ours: c.host, Addresses: c.Addresses, Err: err}
}
