// SPDX-License-Identifier: Apache-2.0

//go:build libfabric && cgo

package rdma

import (
	"net/netip"
	"strconv"
	"time"
)

// peerAddr is the address of another hub, in the address vector of a hub.
type peerAddr struct {
	raw   string
	fi    uint64
	users int       // endpoints, and letters
	since time.Time // when there are none
}

// addressTime is how long the unused address of a hub is kept. Removing it ends what
// the provider has connected underneath, and perhaps the last letter of the other side
// with it.
const addressTime = 5 * time.Second

// strangers is how many addresses a hub keeps beyond those of as many endpoints as
// there may be: a peer may say hello in the names of many.
const strangers = 256

// isCrowded reports whether a hub keeps as many addresses as it may.
func (h *hub) isCrowded() bool { return len(h.addresses) >= h.backend.config.MaxEndpoints+strangers }

// useAddress returns the address for raw, for one user. Errors: *fi.Error.
func (h *hub) useAddress(raw []byte) (*peerAddr, error) {
	a := h.addresses[string(raw)]
	if a == nil {
		to, err := h.av.Insert(raw)
		if err != nil {
			return nil, err
		}
		a = &peerAddr{raw: string(raw), fi: to}
		h.addresses[a.raw] = a
	}
	a.users++
	return a, nil
}

// dropAddress undoes useAddress.
func (h *hub) dropAddress(a *peerAddr) {
	if a.users--; a.users > 0 {
		return
	}
	a.since = time.Now()
	if !h.sweep.IsSet() {
		h.sweep.F = h.sweepAddresses
		h.backend.Alarms.Set(&h.sweep, addressTime)
	}
}

// sweepAddresses removes the addresses that were not used for a while.
func (h *hub) sweepAddresses() {
	unused := 0
	for raw, a := range h.addresses {
		switch {
		case a.users > 0:
		case time.Since(a.since) < addressTime:
			unused++
		default:
			h.check("remove an address", h.av.Remove(a.fi))
			delete(h.addresses, raw)
		}
	}
	if unused > 0 {
		h.backend.Alarms.Set(&h.sweep, addressTime)
	}
}

// connectionAddr returns the address of the side that has opened a connection
// without libfabric's: that of its hub, which all have, and a number in the zone,
// so that each connection has an address of its own as elsewhere, for example
// [::ffff:10.0.0.1%#17]:4711.
func connectionAddr(hub netip.AddrPort, number uint64) netip.AddrPort {
	host := hub.Addr()
	if host.Is4() {
		host = netip.AddrFrom16(host.As16())
	}
	return netip.AddrPortFrom(host.WithZone(host.Zone()+connectionMark+strconv.FormatUint(number, 10)), hub.Port())
}
