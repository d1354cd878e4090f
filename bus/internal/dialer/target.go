// SPDX-License-Identifier: Apache-2.0

package dialer

import (
	"net/netip"

	"tagbus/netio"
)

// Target is what a contact opens: an address, by one of the backends of its user.
type Target struct {
	Backend string // its name
	Addr    netip.AddrPort
}

// String returns the address.
func (t Target) String() string { return t.Addr.String() }

// sameKind reports whether the backends of both are of one kind.
func (t Target) sameKind(o Target) bool { return netio.Kind(t.Backend) == netio.Kind(o.Backend) }

// Targets returns the addresses of one backend as targets.
func Targets(backend string, addresses []netip.AddrPort) []Target {
	all := make([]Target, len(addresses))
	for i, addr := range addresses {
		all[i] = Target{backend, addr}
	}
	return all
}
