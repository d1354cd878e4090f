// SPDX-License-Identifier: Apache-2.0

package announce

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"sync"
	"time"

	"tagbus/bus/directory"
	"tagbus/bus/internal/advertise"
	"tagbus/bus/internal/hostaddr"
)

// PlaceOf returns what is to be announced on a host.
//
// Errors: those of the system, wrapped.
func PlaceOf(host hostaddr.Host, r advertise.Reach) (advertise.Place, error) {
	if !r.Follows() {
		return r.At(nil, directory.MaxAddresses), nil
	}
	all, err := host.Addresses()
	if err != nil {
		return advertise.Place{}, fmt.Errorf("bus: find the addresses to advertise: %w", err)
	}
	return r.At(all, directory.MaxAddresses), nil
}

// retry is when a place is announced again after the directory has failed.
const retry = 10 * time.Second

// Follow announces what has become of a place, in a goroutine of its own, whenever the
// addresses of the host have changed.
//
//   - at: what is announced now.
//   - announce: called one at a time. directory.ErrWithdrawn and directory.ErrClosed end it;
//     after another error it is called again.
//   - Result: ends it, and does not wait: a directory that hangs keeps announce.
func Follow(host hostaddr.Host, r advertise.Reach, at advertise.Place, announce func(advertise.Place) error) (end func()) {
	if !r.Follows() {
		return func() {}
	}
	changed, stop := host.Watch()
	ended := make(chan struct{})
	go func() {
		defer stop()
		again := time.NewTimer(retry)
		again.Stop()
		for {
			select {
			case <-ended:
				return
			case <-changed:
			case <-again.C:
			}
			all, err := host.Addresses()
			if err == nil {
				p := r.At(all, directory.MaxAddresses)
				if p.Equal(at) {
					continue
				}
				if at, err = p, announce(p); err != nil {
					at = advertise.Place{} // unknown: the directory may announce p later by itself
				}
			}
			switch {
			case errors.Is(err, directory.ErrWithdrawn), errors.Is(err, directory.ErrClosed):
				return
			case err != nil:
				again.Reset(retry)
			}
		}
	}()
	return sync.OnceFunc(func() { close(ended) })
}

// tell tells of a place.
//
//   - had: what was announced before; nil: nothing.
func (e *Entry) tell(p advertise.Place, had *advertise.Place) {
	if had != nil && !slices.Equal(had.Addresses, p.Addresses) { // Ways have the same addresses, or names
		e.instance.Tell(Moved{p.Addresses})
	}
	if p.LeftOut > 0 && (had == nil || had.LeftOut == 0) {
		n := len(p.Addresses)
		e.instance.Tell(LeftOut{Has: n + p.LeftOut, Named: n})
	}
}

// watch tells when an announced address leaves the host, in a goroutine of its own. One
// that the host does not have is that of a router, and is not told of.
//
//   - Result: ends it, and does not wait.
func watch(host hostaddr.Host, r advertise.Reach, tell func(News)) (end func()) {
	announced := r.Fixed()
	if len(announced) == 0 {
		return func() {} // Follow announces what the host has
	}
	all, err := host.All()
	had := slices.DeleteFunc(announced, func(a netip.AddrPort) bool { return a.Addr().IsLoopback() || !has(all, a) })
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
			if all, err := host.All(); err == nil {
				tellMissing(had, all, gone, tell)
			}
		}
	}()
	return sync.OnceFunc(func() { close(ended) })
}

// has reports whether an address is one of the host's.
func has(all []netip.Addr, addr netip.AddrPort) bool {
	return slices.Contains(all, addr.Addr().Unmap().WithZone(""))
}

// tellMissing tells of addresses that the host had, and notes it.
//
//   - all: that it has now.
//   - gone: since when it has not the others.
func tellMissing(had []netip.AddrPort, all []netip.Addr, gone map[netip.AddrPort]time.Time, tell func(News)) {
	for _, addr := range had {
		since, away := gone[addr]
		switch here := has(all, addr); {
		case here && away:
			delete(gone, addr)
			tell(Gone{Addr: addr, Over: true, Lasted: time.Since(since)})
		case !here && !away:
			gone[addr] = time.Now()
			tell(Gone{Addr: addr})
		}
	}
}
