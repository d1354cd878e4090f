// SPDX-License-Identifier: Apache-2.0

package bus

import (
	"net/netip"
	"slices"
	"sync"
	"time"

	"tagbus/bus/internal/advertise"
	"tagbus/bus/internal/hostaddr"
	"tagbus/internal/sanitize"
)

// AddressGoneError is the cause of a Problem event of a publisher or a receiver whose address, of
// Listen or Advertise, was one of this host and is no more. The event comes once, and once more
// when the host has it again. In between no program connects by that address.
type AddressGoneError struct {
	Addr   netip.AddrPort
	Over   bool          // the host has it again
	Lasted time.Duration // if Over: for how long it had not
}

// Error names the address, and what to do.
func (e *AddressGoneError) Error() string {
	if e.Over {
		return sanitize.Linef("bus: %v is an address of this host again, after %v without", e.Addr, e.Lasted.Round(time.Millisecond))
	}
	return sanitize.Linef("bus: %v, which is announced, is not an address of this host any more: no program connects by it: give the host the address again, or listen on 0.0.0.0, which follows what the host has", e.Addr)
}

// watchAddresses tells when an announced address leaves the host, in a goroutine of its own. One
// that the host does not have is that of a router, and is not told of.
//
//   - Result: ends it, and does not wait.
func watchAddresses(host hostaddr.Host, l advertise.Listener, announced []netip.AddrPort, tell func([]Event)) (end func()) {
	if len(l.Advertise) == 0 && l.Listen.Addr().IsUnspecified() {
		return func() {} // followHost announces what the host has
	}
	all, err := host.Addresses()
	had := slices.DeleteFunc(slices.Clone(announced), func(a netip.AddrPort) bool { return a.Addr().IsLoopback() || !has(all, a) })
	if err != nil || len(had) == 0 {
		return func() {}
	}
	changed, stop := host.Watch()
	ended := make(chan struct{})
	go func() {
		defer stop()
		gone := make(map[netip.AddrPort]time.Time)
		for {
			select {
			case <-ended:
				return
			case <-changed:
			}
			if all, err := host.Addresses(); err == nil {
				tell(missing(had, all, gone))
			}
		}
	}()
	return sync.OnceFunc(func() { close(ended) })
}

// has reports whether an address is one of the host's.
func has(all []netip.Addr, addr netip.AddrPort) bool {
	return slices.Contains(all, addr.Addr().Unmap().WithZone(""))
}

// missing returns what to tell of addresses that the host had, and notes it.
//
//   - all: that it has now.
//   - gone: since when it has not the others.
func missing(had []netip.AddrPort, all []netip.Addr, gone map[netip.AddrPort]time.Time) (events []Event) {
	for _, addr := range had {
		since, away := gone[addr]
		switch here := has(all, addr); {
		case here && away:
			delete(gone, addr)
			events = append(events, Event{Kind: Problem, Err: &AddressGoneError{Addr: addr, Over: true, Lasted: time.Since(since)}})
		case !here && !away:
			gone[addr] = time.Now()
			events = append(events, Event{Kind: Problem, Err: &AddressGoneError{Addr: addr}})
		}
	}
	return events
}
