// SPDX-License-Identifier: Apache-2.0

// Package multi makes one netio backend of several, for programs that reach each peer by the
// best way that both have.
//
// The backends share a loop and a handler. What they have opened is told apart by
// netio.Endpoint.Backend, and a refusal by netio.ViaError. A user that is to choose asks for
// netio.Backends and opens endpoints and listen endpoints there.
package multi

import (
	"errors"
	"net/netip"
	"strings"

	"tagbus/netio"
)

// Part is one of the backends.
type Part struct {
	Open netio.Opener

	// Missing is told why the backend cannot be opened. The others do without it, if there is
	// one at least. nil: the error is that of the opener.
	Missing func(err error)
}

// Opener returns an opener of a backend that consists of others, the best first. All of them must have the
// same loop.
//
// As a netio.Backend by itself it opens endpoints and listen endpoints by the last one: all programs are
// expected to have that.
//
// The errors of the opener: those of the parts.
func Opener(parts ...Part) netio.Opener {
	return func(h netio.Handler) (netio.Backend, error) {
		b := &backend{}
		var missing []error
		for _, part := range parts {
			own, reporting := newHandler(h)
			opened, err := part.Open(reporting)
			switch {
			case err == nil:
				own.name = opened.Name() // nothing is opened yet, so that no callback reads it
				b.all = append(b.all, opened)
			case part.Missing == nil:
				return nil, errors.Join(err, b.Close())
			default:
				part.Missing(err)
				missing = append(missing, err)
			}
		}
		if len(b.all) == 0 {
			return nil, errors.Join(missing...)
		}
		return b, nil
	}
}

// handler is the handler of one of the backends.
type handler struct {
	netio.Handler
	name string
}

// newHandler returns the handler of one of the backends, and what that reports to.
func newHandler(h netio.Handler) (own *handler, reporting netio.Handler) {
	own = &handler{Handler: h}
	if parts, ok := h.(netio.PartsHandler); ok {
		return own, &partsHandler{own, parts}
	}
	return own, own
}

// partsHandler is the handler for one that takes messages in parts.
type partsHandler struct {
	*handler
	parts netio.PartsHandler
}

// OnDataParts implements netio.PartsHandler.
func (h *partsHandler) OnDataParts(ep netio.Endpoint, head, data []byte) (taken bool) {
	return h.parts.OnDataParts(ep, head, data)
}

// OnConnectionRefused implements netio.Handler.
func (h *handler) OnConnectionRefused(addr netip.AddrPort, err error) {
	h.Handler.OnConnectionRefused(addr, &netio.ViaError{Backend: h.name, Err: err})
}

// backend implements netio.MultiBackend.
type backend struct {
	all []netio.Backend // at least one; does not change
}

// Backends implements netio.MultiBackend.
func (b *backend) Backends() []netio.Backend { return b.all }

// Name implements netio.Backend: the names with commas between them.
func (b *backend) Name() string {
	names := make([]string, len(b.all))
	for i, one := range b.all {
		names[i] = one.Name()
	}
	return strings.Join(names, ",")
}

// last is what is used by those that do not choose.
func (b *backend) last() netio.Backend { return b.all[len(b.all)-1] }

// Loop implements netio.Backend.
func (b *backend) Loop() netio.Loop { return b.last().Loop() }

// OpenListenEndpoint implements netio.Backend.
func (b *backend) OpenListenEndpoint(addr netip.AddrPort, p netio.Params) (netio.ListenEndpoint, error) {
	return b.last().OpenListenEndpoint(addr, p)
}

// OpenEndpoint implements netio.Backend.
func (b *backend) OpenEndpoint(addr netip.AddrPort, p netio.Params) error {
	return b.last().OpenEndpoint(addr, p)
}

// Stats implements netio.Backend.
func (b *backend) Stats() (sum netio.Stats) {
	for _, one := range b.all {
		sum.Add(one.Stats())
	}
	return sum
}

// Close implements netio.Backend.
func (b *backend) Close() error {
	errs := make([]error, len(b.all))
	for i, one := range b.all {
		errs[i] = one.Close()
	}
	return errors.Join(errs...)
}
