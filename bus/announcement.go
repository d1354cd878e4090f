// SPDX-License-Identifier: Apache-2.0

package bus

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"

	"tagbus/bus/directory"
	"tagbus/bus/internal/advertise"
	"tagbus/bus/internal/announce"
	"tagbus/bus/internal/dialer"
	"tagbus/bus/internal/ways"
	"tagbus/internal/sanitize"
	"tagbus/netio"
)

// announcement is where a publisher or a receiver listens, and what the directory says of that.
type announcement struct {
	announce.Entry
	listen netio.ListenEndpoint // by the last backend, the first one if it has several; nil before
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
//   - problem: told by which backend no peer connects. That is an error only of the last kind, which all
//     have, and of a place that the user names. One that names a kind is that of the device whose address it is.
//   - Errors: ErrInvalidConfig, wrapped; *netio.OpError.
func (a *announcement) open(bs ways.Backends, cfg *Listening, p netio.Params, problem func(Event)) (listeners []advertise.Listener, err error) {
	for _, at := range cfg.Also {
		if !slices.ContainsFunc(bs, at.names) {
			return nil, fmt.Errorf("%w: Also: the backend is %q, and there is %s", ErrInvalidConfig, at.Backend, bs.Names())
		}
	}
	last := func(b netio.Backend) bool { return netio.Kind(b.Name()) == netio.Kind(bs.Last().Name()) }
	none := make(map[dialer.Target]error) // places that name a kind, until one of its devices has the address
	for _, b := range bs {
		for _, at := range cfg.places(b) {
			l, err := b.OpenListenEndpoint(at.Listen, p)
			if at.Backend != b.Name() && (err == nil || errors.Is(err, netio.ErrInvalidAddress)) {
				place := dialer.Target{Backend: at.Backend, Addr: at.Listen}
				if before, known := none[place]; !known || before != nil {
					none[place] = err
				}
				if err != nil {
					continue
				}
			}
			if err != nil && !last(b) && !slices.ContainsFunc(cfg.Also, func(l Listener) bool { return l.names(b) }) {
				problem(Event{Kind: Problem, Err: &WayError{b.Name(), err}})
				continue
			}
			if err != nil {
				return nil, err
			}
			listeners = append(listeners, advertise.Listener{Backend: netio.Kind(b.Name()), Listen: l.Addr(), Advertise: at.Advertise})
			if last(b) && a.listen == nil {
				a.listen = l
			}
		}
	}
	for _, at := range cfg.Also {
		if err := none[dialer.Target{Backend: at.Backend, Addr: at.Listen}]; err != nil {
			return nil, err
		}
	}
	return listeners, nil
}

// names reports whether a place is one of a backend.
func (l Listener) names(b netio.Backend) bool {
	return l.Backend == b.Name() || l.Backend == netio.Kind(b.Name())
}

// places returns where to listen by a backend.
func (c *Listening) places(b netio.Backend) []Listener {
	also := slices.DeleteFunc(slices.Clone(c.Also), func(l Listener) bool { return !l.names(b) })
	named, ok := b.(netio.NamedBackend)
	switch {
	case ok && len(also) == 0:
		return []Listener{{Backend: b.Name(), Listen: named.NewName()}}
	case len(also) == 0:
		return []Listener{{Backend: b.Name(), Listen: c.Listen, Advertise: c.Advertise}}
	}
	return also
}

// announcing is what a publisher or a receiver brings to its announcement.
type announcing struct {
	backends ways.Backends
	loop     netio.Loop
	cfg      *Listening
	monitor  netip.AddrPort
	params   netio.Params // of the connections
	trouble  *announce.Trouble
	event    func(Event) // on the loop
}

// serve listens by all backends, and announces that in dir.
//
//   - entry: without its backend and addresses.
//   - Errors: as of open and announce.Entry.Start.
func (a *announcement) serve(dir directory.Directory, x announcing, entry directory.Entry) error {
	listeners, err := a.open(x.backends, x.cfg, x.params, func(e Event) { x.loop.Post(func() { x.event(e) }) })
	if err != nil {
		return err
	}
	entry.Backend = netio.Kind(x.backends.Last().Name())
	return a.Start(dir, announce.Instance{
		Reach: advertise.Reach{Listeners: listeners, Monitor: x.monitor}, Host: x.cfg.host,
		Trouble: x.trouble, Tell: onEntry(x.loop, x.event),
	}, entry)
}

// addr returns the address at which it listens.
func (a *announcement) addr() netip.AddrPort { return a.listen.Addr() }
