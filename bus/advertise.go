// SPDX-License-Identifier: Apache-2.0

package bus

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
	"tagbus/bus/state"
	"tagbus/internal/sanitize"
	"tagbus/internal/validate"
)

// AdvertiseError says what is wrong with PublisherConfig.Advertise or
// ReceiverConfig.Advertise. It is an ErrInvalidConfig.
type AdvertiseError struct {
	Addr   netip.AddrPort // that cannot be announced; the zero value: it is about all of them
	Reason string         // and what to announce instead
}

// Error names the address and the reason.
func (e *AdvertiseError) Error() string {
	if !e.Addr.Addr().IsValid() {
		return sanitize.Linef("%v: Advertise: %s", ErrInvalidConfig, e.Reason)
	}
	return sanitize.Linef("%v: Advertise: %v %s", ErrInvalidConfig, e.Addr, e.Reason)
}

// Unwrap returns ErrInvalidConfig.
func (*AdvertiseError) Unwrap() error { return ErrInvalidConfig }

// checkAdvertise adds what is wrong with the addresses to be announced. Port 0 is that
// of the listener.
func checkAdvertise(v *validate.Violations, addresses []netip.AddrPort) {
	if n := len(addresses); n > directory.MaxAddresses {
		v.Join(&AdvertiseError{Reason: fmt.Sprintf("got %d addresses, want at most %d", n, directory.MaxAddresses)})
		return
	}
	for _, addr := range addresses {
		if !addr.Addr().IsValid() {
			v.Join(&AdvertiseError{Reason: "an address is missing"})
			continue
		}
		if reason := directory.Undialable(advertise.WithPort(addr, somePort)); reason != "" {
			v.Join(&AdvertiseError{Addr: addr, Reason: reason})
		}
	}
}

// checkMonitor adds what is wrong with the address of the monitor.
func checkMonitor(v *validate.Violations, monitor netip.AddrPort) {
	if monitor == (netip.AddrPort{}) || advertise.Unspecified(monitor) && monitor.Port() != 0 {
		return
	}
	if reason := directory.Undialable(monitor); reason != "" {
		v.Add("Monitor is %v, which %s", monitor, reason)
	}
}

// AddressLimitError is the cause of a Problem event of a publisher or a receiver that
// announces all addresses of a host with more of them than an entry names.
type AddressLimitError struct {
	Has   int // addresses of the host that others may dial
	Named int // that the entry has: the first of each network first
}

// Error says how many there are, and what to do.
func (e *AddressLimitError) Error() string {
	return fmt.Sprintf("bus: this host has %d addresses, and its entry names %d, the first of each network first: set Advertise to name others", e.Has, e.Named)
}

// newPlace returns what is to be announced.
//
// Errors: those of the system.
func newPlace(host hostaddr.Host, r advertise.Reach) (advertise.Place, error) {
	if !r.Follows() {
		return r.At(nil, directory.MaxAddresses), nil
	}
	all, err := host.Addresses()
	if err != nil {
		return advertise.Place{}, fmt.Errorf("bus: find the addresses to advertise: %w", err)
	}
	return r.At(all, directory.MaxAddresses), nil
}

// showPlace adds what is announced, if it is not nil, to a state.
func showPlace(p *advertise.Place, st *state.State) {
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

// placeRetry is when a place is announced again after the directory has failed.
const placeRetry = 10 * time.Second

// followHost announces what has become of a place, in a goroutine of its own, whenever the
// addresses of the host have changed.
//
//   - at: what is announced now.
//   - announce: called one at a time. ErrClosed and directory.ErrWithdrawn end it; after
//     another error, that of the directory, it is called again.
//   - Result: ends it, and does not wait: a directory that hangs keeps announce.
func followHost(host hostaddr.Host, r advertise.Reach, at advertise.Place, announce func(advertise.Place) error) (end func()) {
	if !r.Follows() {
		return func() {}
	}
	changed, stop := host.Watch()
	ended := make(chan struct{})
	go func() {
		defer stop()
		retry := time.NewTimer(placeRetry)
		retry.Stop()
		for {
			select {
			case <-ended:
				return
			case <-changed:
			case <-retry.C:
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
			case errors.Is(err, ErrClosed), errors.Is(err, directory.ErrWithdrawn), errors.Is(err, directory.ErrClosed):
				return
			case err != nil:
				retry.Reset(placeRetry)
			}
		}
	}()
	return sync.OnceFunc(func() { close(ended) })
}

// placeEvents returns what to tell of a place.
//
//   - had: what was announced before; nil: nothing.
func placeEvents(p advertise.Place, had *advertise.Place) (all []Event) {
	if had != nil && !slices.Equal(had.Addresses, p.Addresses) { // Ways have the same addresses, or names
		all = append(all, Event{Kind: Announced, Addresses: p.Addresses})
	}
	if p.LeftOut > 0 && (had == nil || had.LeftOut == 0) {
		n := len(p.Addresses)
		all = append(all, Event{Kind: Problem, Err: &AddressLimitError{Has: n + p.LeftOut, Named: n}})
	}
	return all
}

// somePort stands for the port of a listener that is not open yet.
const somePort = 1

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
func watchAddresses(host hostaddr.Host, r advertise.Reach, tell func([]Event)) (end func()) {
	announced := r.Fixed()
	if len(announced) == 0 {
		return func() {} // followHost announces what the host has
	}
	all, err := host.Addresses()
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
