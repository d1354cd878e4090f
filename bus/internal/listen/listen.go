// SPDX-License-Identifier: Apache-2.0

// Package listen opens the listeners of a program: by each of its backends, at the places that
// its configuration names.
package listen

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"

	"tagbus/bus/internal/advertise"
	"tagbus/bus/internal/dialer"
	"tagbus/bus/internal/ways"
	"tagbus/netio"
)

// Place is where to listen by a backend.
type Place struct {
	Backend   string // its name, or that of its kind
	Listen    netip.AddrPort
	Advertise []netip.AddrPort // port 0 is that of Listen
}

// Places are those of a program.
type Places struct {
	Default Place   // for the backends that Also does not name; its Backend does not matter
	Also    []Place // a place that names a kind is that of the device whose address it is
}

// BackendError says that a place is one of a backend that the program does not have.
type BackendError struct {
	Backend string
	There   string // those that it has
}

// Error names the backends.
func (e *BackendError) Error() string {
	return fmt.Sprintf("Also: the backend is %q, and there is %s", e.Backend, e.There)
}

// Open listens by all backends. What cannot be listened to is closed with its backend.
//
//   - problem: told by which backend no peer connects. That is an error only of the last kind, which all
//     have, and of a place that Also names.
//   - Result: the listeners, and that of the last backend, the first one if it has several.
//   - Errors: *BackendError; *netio.OpError.
func (ps *Places) Open(bs ways.Backends, p netio.Params, problem func(backend string, err error)) (listeners []advertise.Listener, at netio.ListenEndpoint, err error) {
	for _, place := range ps.Also {
		if !slices.ContainsFunc(bs, place.names) {
			return nil, nil, &BackendError{place.Backend, bs.Names()}
		}
	}
	last := func(b netio.Backend) bool { return netio.Kind(b.Name()) == netio.Kind(bs.Last().Name()) }
	none := make(map[dialer.Target]error) // places that name a kind, until one of its devices has the address
	for _, b := range bs {
		for _, place := range ps.of(b) {
			l, err := b.OpenListenEndpoint(place.Listen, p)
			if place.Backend != b.Name() && (err == nil || errors.Is(err, netio.ErrInvalidAddress)) {
				if before, known := none[place.target()]; !known || before != nil {
					none[place.target()] = err
				}
				if err != nil {
					continue
				}
			}
			if err != nil && !last(b) && !ps.named(b) {
				problem(b.Name(), err)
				continue
			}
			if err != nil {
				return nil, nil, err
			}
			listeners = append(listeners, advertise.Listener{Backend: netio.Kind(b.Name()), Listen: l.Addr(), Advertise: place.Advertise})
			if last(b) && at == nil {
				at = l
			}
		}
	}
	for _, place := range ps.Also {
		if err := none[place.target()]; err != nil {
			return nil, nil, err
		}
	}
	return listeners, at, nil
}

// of returns where to listen by a backend.
func (ps *Places) of(b netio.Backend) (places []Place) {
	if ps.named(b) {
		return slices.DeleteFunc(slices.Clone(ps.Also), func(p Place) bool { return !p.names(b) })
	}
	place := ps.Default
	place.Backend = b.Name()
	if named, ok := b.(netio.NamedBackend); ok {
		place.Listen, place.Advertise = named.NewName(), nil
	}
	return []Place{place}
}

// named reports whether Also names a backend.
func (ps *Places) named(b netio.Backend) bool {
	return slices.ContainsFunc(ps.Also, func(p Place) bool { return p.names(b) })
}

// names reports whether a place is one of a backend.
func (p Place) names(b netio.Backend) bool {
	return p.Backend == b.Name() || p.Backend == netio.Kind(b.Name())
}

// target returns the place without what is advertised.
func (p Place) target() dialer.Target { return dialer.Target{Backend: p.Backend, Addr: p.Listen} }
