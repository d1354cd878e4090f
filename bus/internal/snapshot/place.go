// SPDX-License-Identifier: Apache-2.0

package snapshot

import (
	"net/netip"

	"tagbus/bus/internal/advertise"
	"tagbus/bus/state"
)

// ShowPlace adds what is announced, if it is not nil, to a state.
func ShowPlace(p *advertise.Place, st *state.State) {
	if p == nil {
		return
	}
	st.Addresses = texts(p.Addresses)
	for _, way := range p.Ways {
		st.Ways = append(st.Ways, state.Way{Backend: way.Backend, Addresses: texts(way.Addresses)})
	}
	if p.Monitor.IsValid() {
		st.Monitor = p.Monitor.String()
	}
}

// texts returns addresses as texts.
func texts(addresses []netip.AddrPort) (all []string) {
	for _, addr := range addresses {
		all = append(all, addr.String())
	}
	return all
}
