// SPDX-License-Identifier: Apache-2.0

package bus

import (
	"fmt"
	"net/netip"
	"slices"
	"sync/atomic"

	"tagbus/bus/internal/advertise"
	"tagbus/bus/internal/ways"
	"tagbus/internal/sanitize"
	"tagbus/netio"
)

// announcement is where a publisher or a receiver listens, and what the directory says of that.
type announcement struct {
	listen   netio.ListenEndpoint // by the last backend, the first one if it has several; nil before
	reach    advertise.Reach
	at       atomic.Pointer[advertise.Place] // announced; nil before
	unfollow func()                          // the addresses of the host; nil before
}

// WayError is the cause of a Problem event of a publisher or a receiver that is not reached by one
// of its backends. Peers reach it by the others.
type WayError struct {
	Backend string
	Err     error // why
}

// Error names the backend and the reason.
func (e *WayError) Error() string {
	return sanitize.Linef("bus: no peer connects by %s, and all use other transports: %v", e.Backend, e.Err)
}

// Unwrap returns the reason.
func (e *WayError) Unwrap() error { return e.Err }

// open listens by all backends. What cannot be listened to is closed with its backend.
//
//   - problem: told by which backend no peer connects. That is an error only of the last one, which all
//     have, and of a place that the user names.
//   - Errors: ErrInvalidConfig, wrapped; *netio.OpError.
func (a *announcement) open(bs ways.Backends, cfg *Listening, monitor netip.AddrPort, p netio.Params, problem func(error)) error {
	a.reach.Monitor = monitor
	for _, at := range cfg.Also {
		if bs.Named(at.Backend) == nil {
			return fmt.Errorf("%w: Also: the backend is %q, and there is %s", ErrInvalidConfig, at.Backend, bs.Names())
		}
	}
	for _, b := range bs {
		for _, at := range cfg.places(b) {
			l, err := b.OpenListenEndpoint(at.Listen, p)
			if err != nil && b != bs.Last() && !slices.ContainsFunc(cfg.Also, func(l Listener) bool { return l.Backend == b.Name() }) {
				problem(&WayError{b.Name(), err})
				continue
			}
			if err != nil {
				return err
			}
			a.reach.Listeners = append(a.reach.Listeners, advertise.Listener{Backend: b.Name(), Listen: l.Addr(), Advertise: at.Advertise})
			if b == bs.Last() && a.listen == nil {
				a.listen = l
			}
		}
	}
	return nil
}

// places returns where to listen by a backend.
func (c *Listening) places(b netio.Backend) []Listener {
	also := slices.DeleteFunc(slices.Clone(c.Also), func(l Listener) bool { return l.Backend != b.Name() })
	named, ok := b.(netio.NamedBackend)
	switch {
	case ok && len(also) == 0:
		return []Listener{{Backend: b.Name(), Listen: named.NewName()}}
	case len(also) == 0:
		return []Listener{{Backend: b.Name(), Listen: c.Listen, Advertise: c.Advertise}}
	}
	return also
}

// addr returns the address at which it listens.
func (a *announcement) addr() netip.AddrPort { return a.listen.Addr() }

// follow announces what becomes of the addresses.
//
//   - at: what is announced now.
//   - move: as of followHost.
//   - tell: as of watchAddresses.
func (a *announcement) follow(cfg *Listening, at advertise.Place, move func(advertise.Place) error, tell func([]Event)) {
	follows, watches := followHost(cfg.host, a.reach, at, move), watchAddresses(cfg.host, a.reach, tell)
	a.unfollow = func() { follows(); watches() }
}

// end ends follow.
func (a *announcement) end() {
	if a.unfollow != nil {
		a.unfollow()
	}
}
