// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"net/netip"
	"slices"
	"strings"
	"sync/atomic"

	"tagbus/bus"
	"tagbus/bus/state"
	"tagbus/cmd/internal/options"
	"tagbus/internal/sanitize"
)

// Address is an address to listen on.
type Address = options.Address

// Announced is an address for the directory. Port 0 is the port that was bound.
type Announced = options.Announced

// ListenPlace is a place to listen at.
type ListenPlace = options.Place

// Listening returns where a program listens.
//
//   - also: beside listen, by the transports that they name.
func Listening(listen Address, advertise []Announced, also []ListenPlace) bus.Listening {
	l := bus.Listening{Listen: listen.AddrPort, Advertise: options.AddrPorts(advertise)}
	for _, p := range also {
		l.Also = append(l.Also, bus.Listener{Backend: p.Backend, Listen: p.At})
	}
	return l
}

// AnnouncedBy returns the addresses in the entry of an instance, whether the directory can
// be reached or not.
//
//   - ask: its method State.
//   - Blocks: for the loop.
func AnnouncedBy(ask func(context.Context, state.Question) (state.State, error)) (all []netip.AddrPort) {
	s, err := ask(context.Background(), state.Question{})
	if err != nil {
		return nil // it is closed
	}
	for _, text := range s.Addresses {
		if addr, err := netip.ParseAddrPort(text); err == nil {
			all = append(all, addr)
		}
	}
	return all
}

// Place says where a publisher or receiver can be reached, and from where, if that is not
// everywhere.
//
//   - listen: where it listens.
//   - announced: what its peers are told.
//   - advertised: because --advertise says so.
func Place(listen netip.AddrPort, announced []netip.AddrPort, advertised bool) string {
	var b strings.Builder
	b.WriteString(listen.String())
	if !slices.Equal(announced, []netip.AddrPort{listen}) {
		b.WriteString(", announced as " + sanitize.Some(announced))
	}
	switch {
	case !OnlyLoopback(announced):
	case advertised:
		b.WriteString(", which only this host can reach (--advertise)")
	case listen.Addr().IsUnspecified():
		b.WriteString(", which only this host can reach: it has no address that others reach")
	default:
		b.WriteString(", which only this host can reach (--listen)")
	}
	return b.String()
}

// Told is what the peers of a publisher or receiver are told of where it is. The zero value
// is ready. Threads: any.
type Told struct {
	addresses atomic.Pointer[[]netip.AddrPort]
}

// Set notes what they are told now.
func (t *Told) Set(addresses []netip.AddrPort) { t.addresses.Store(&addresses) }

// Addresses returns what they are told; nil before Set.
func (t *Told) Addresses() []netip.AddrPort {
	if all := t.addresses.Load(); all != nil {
		return *all
	}
	return nil
}

// Follow takes over what an event says of it.
func (t *Told) Follow(e bus.Event) {
	if e.Kind == bus.Announced {
		t.Set(e.Addresses)
	}
}

// OnlyLoopback reports whether no other host can reach any of the addresses.
func OnlyLoopback(addresses []netip.AddrPort) bool {
	return len(addresses) > 0 && !slices.ContainsFunc(addresses, func(a netip.AddrPort) bool { return !a.Addr().Unmap().IsLoopback() })
}
