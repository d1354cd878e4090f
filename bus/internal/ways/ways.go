// SPDX-License-Identifier: Apache-2.0

// Package ways knows by which backends a program and its peers reach each other.
package ways

import (
	"errors"
	"net/netip"
	"slices"
	"strings"

	"tagbus/bus/directory"
	"tagbus/bus/internal/dialer"
	"tagbus/netio"
)

// Backends are those of a program, the best first. It listens by each of them, and dials a peer by
// the best one that both have.
//
// Threads: any.
type Backends []netio.Backend

// Of returns the backends of which one consists.
func Of(b netio.Backend) Backends { return netio.Backends(b) }

// within reports whether a backend is for processes of one host.
func within(b netio.Backend) bool {
	_, ok := b.(netio.NamedBackend)
	return ok
}

// Within reports whether the addresses of a backend are names within the host.
func (bs Backends) Within(backend string) bool {
	b := bs.Named(backend)
	return b != nil && within(b)
}

// Last is that which all programs are expected to have.
func (bs Backends) Last() netio.Backend { return bs[len(bs)-1] }

// Names returns their names, with commas between them.
func (bs Backends) Names() string {
	var all []string
	for _, b := range bs {
		all = append(all, b.Name())
	}
	return strings.Join(all, ",")
}

// Named returns the backend of a name, nil if there is none. That of a device has it in its name.
func (bs Backends) Named(name string) netio.Backend {
	if i := slices.IndexFunc(bs, func(b netio.Backend) bool { return b.Name() == name }); i >= 0 {
		return bs[i]
	}
	return nil
}

// Kinds returns the kinds of backends, the best first, with commas between them: what the directory has.
func (bs Backends) Kinds() string {
	var all []string
	for _, b := range bs {
		if kind := netio.Kind(b.Name()); !slices.Contains(all, kind) {
			all = append(all, kind)
		}
	}
	return strings.Join(all, ",")
}

// Has reports whether there is a backend of a kind.
func (bs Backends) Has(kind string) bool { return len(bs.of(kind)) > 0 }

// of returns the backends of a kind: several have a device each.
func (bs Backends) of(kind string) (all Backends) {
	for _, b := range bs {
		if netio.Kind(b.Name()) == kind {
			all = append(all, b)
		}
	}
	return all
}

// Targets returns where to dial a peer, the best way first. There are none if it has other
// backends than this program.
//
//   - own: the instance of this side.
func (bs Backends) Targets(own string, e directory.Entry) (all []dialer.Target) {
	ways := e.AllWays()
	done := make(map[string]bool, len(bs))
	for _, b := range bs {
		kind := netio.Kind(b.Name())
		if done[kind] {
			continue
		}
		done[kind] = true
		for _, way := range ways {
			if way.Backend == kind {
				all = append(all, bs.of(kind).targets(own+" "+e.Instance, way.Addresses)...)
			}
		}
	}
	return all
}

// Sole returns how to dial a peer by one kind of backend that both have. It is the last one that all
// are expected to have, if so: for what is asked now and then, which is not worth memory that is shared.
func (bs Backends) Sole(e directory.Entry) []dialer.Target {
	for _, way := range slices.Backward(e.AllWays()) {
		if some := bs.of(way.Backend); len(some) > 0 {
			return some.targets(e.Instance, way.Addresses)
		}
	}
	return nil
}

// OnlyWithin reports whether all ways that a peer and this program have in common are within a host, though both
// have others: one of them has certificates perhaps, and they do not let each other in there either.
func (bs Backends) OnlyWithin(e directory.Entry) bool {
	common := false
	for _, way := range e.AllWays() {
		if some := bs.of(way.Backend); len(some) > 0 {
			if !within(some[0]) {
				return false
			}
			common = true
		}
	}
	return common && len(e.Ways) > 0 && len(bs) > 1
}

// OnlyLoopback reports whether an entry is of another host, and has only addresses that lead back
// to this one.
//
//   - host: this one, as it calls itself; empty: not known.
func (bs Backends) OnlyLoopback(e directory.Entry, host string) bool {
	if e.Host == "" || host == "" || e.Host == host || len(e.Addresses) == 0 || !bs.Has(e.Backend) {
		return false
	}
	return !slices.ContainsFunc(e.Addresses, func(a netip.AddrPort) bool { return !a.Addr().Unmap().IsLoopback() })
}

// Open begins to open a connection.
//
// Errors: as netio.Backend.OpenEndpoint; in a program of several backends with the name of its own.
func (bs Backends) Open(to dialer.Target, p netio.Params) error {
	err := bs.Named(to.Backend).OpenEndpoint(to.Addr, p)
	if err != nil && len(bs) > 1 {
		err = &netio.ViaError{Backend: to.Backend, Err: err}
	}
	return err
}

// Refused returns what was refused.
//
//   - err: of netio.Handler.OnConnectionRefused.
func (bs Backends) Refused(addr netip.AddrPort, err error) dialer.Target {
	if via := (*netio.ViaError)(nil); errors.As(err, &via) {
		return dialer.Target{Backend: via.Backend, Addr: addr}
	}
	return dialer.Target{Backend: bs.Last().Name(), Addr: addr}
}

// Passed is a way to a peer that is better than that of the connection, and why it is not used.
type Passed struct {
	Backend string
	Reason  string
}

// Passed returns the ways of a peer that are better than that of its connection.
//
//   - backend: of the connection.
//   - failed: what has become of the try from which it came.
func (bs Backends) Passed(e directory.Entry, backend string, failed []dialer.Failure) (all []Passed) {
	for _, way := range e.AllWays() {
		if way.Backend == netio.Kind(backend) {
			for _, f := range failed { // of other devices
				if f.Backend != backend && netio.Kind(f.Backend) == way.Backend && !has(all, f.Backend) {
					all = append(all, Passed{f.Backend, f.Err.Error()})
				}
			}
			break
		}
		p := Passed{Backend: way.Backend, Reason: "not tried"}
		if !bs.Has(way.Backend) {
			p.Reason = "this program has only " + bs.Names()
		}
		for _, f := range failed {
			if netio.Kind(f.Backend) == way.Backend {
				p.Reason = f.Err.Error()
				break
			}
		}
		all = append(all, p)
	}
	return all
}

func has(all []Passed, backend string) bool {
	return slices.ContainsFunc(all, func(p Passed) bool { return p.Backend == backend })
}

// TargetOf returns what was dialed for a connection.
func TargetOf(ep netio.Endpoint) dialer.Target {
	return dialer.Target{Backend: ep.Backend(), Addr: ep.Remote()}
}

// Shares reports whether one of them can send memory without copying if that is a shared region.
func (bs Backends) Shares() bool { return slices.ContainsFunc(bs, within) }

// Text names the backends of an entry, the best first, with commas between them.
func Text(e directory.Entry) string {
	var all []string
	for _, way := range e.AllWays() {
		all = append(all, way.Backend)
	}
	return strings.Join(all, ",")
}
