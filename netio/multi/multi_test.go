// SPDX-License-Identifier: Apache-2.0

package multi_test

import (
	"errors"
	"net/netip"
	"testing"

	"tagbus/netio"
	"tagbus/netio/multi"
)

// part is a backend that remembers what it was opened with.
type part struct {
	netio.Backend
	name   string
	h      netio.Handler
	closed int
	opened []netip.AddrPort
}

func (p *part) Name() string { return p.name }

func (p *part) Stats() netio.Stats { return netio.Stats{Opened: 1, BytesSent: 10} }

func (p *part) OpenEndpoint(addr netip.AddrPort, _ netio.Params) error {
	p.opened = append(p.opened, addr)
	return nil
}

func (p *part) Close() error {
	p.closed++
	return errClose
}

// open opens it.
func (p *part) open(h netio.Handler) (netio.Backend, error) {
	p.h = h
	return p, nil
}

var (
	errOpen  = errors.New("it cannot be opened")
	errClose = errors.New("it cannot be closed")
)

func fails(netio.Handler) (netio.Backend, error) { return nil, errOpen }

// refusals is a handler that remembers why connections were refused, and in which parts messages came.
type refusals struct {
	netio.NopHandler
	errs  []error
	parts int
}

func (r *refusals) OnConnectionRefused(_ netip.AddrPort, err error) { r.errs = append(r.errs, err) }

// inParts is one that takes messages in parts.
type inParts struct{ refusals }

func (p *inParts) OnDataParts(netio.Endpoint, []byte, []byte) bool {
	p.parts++
	return true
}

var addr = netip.MustParseAddrPort("10.0.0.1:1")

func TestSeveralBackendsAreOne(t *testing.T) {
	first, last, h := &part{name: "shm"}, &part{name: "tcp"}, &refusals{}
	b, err := multi.Opener(multi.Part{Open: first.open}, multi.Part{Open: last.open})(h)
	if err != nil {
		t.Fatal(err)
	}
	if all := netio.Backends(b); len(all) != 2 || all[0] != netio.Backend(first) || all[1] != netio.Backend(last) || b.Name() != "shm,tcp" {
		t.Errorf("got %v, %q, want both in their order", all, b.Name())
	}
	if got := b.Stats(); got.Opened != 2 || got.BytesSent != 20 {
		t.Errorf("Stats: got %+v, want the sum", got)
	}
	if err := b.OpenEndpoint(addr, netio.Params{}); err != nil || len(first.opened) != 0 || len(last.opened) != 1 {
		t.Errorf("OpenEndpoint: got %v, by %v and %v, want by the last one", err, first.opened, last.opened)
	}
	first.h.OnConnectionRefused(addr, errOpen)
	last.h.OnConnectionRefused(addr, errOpen)
	for i, want := range []string{"shm", "tcp"} {
		if via := (*netio.ViaError)(nil); !errors.As(h.errs[i], &via) || via.Backend != want || !errors.Is(h.errs[i], errOpen) {
			t.Errorf("refusal %d: got %v, want by %s", i, h.errs[i], want)
		}
	}
	if _, ok := first.h.(netio.PartsHandler); ok {
		t.Error("the handler takes messages in parts, and the user's does not")
	}
	if err := b.Close(); !errors.Is(err, errClose) || first.closed != 1 || last.closed != 1 {
		t.Errorf("Close: got %v, %d, %d, want both closed, and their errors", err, first.closed, last.closed)
	}
}

func TestMessagesInPartsReachTheirHandler(t *testing.T) {
	p, h := &part{name: "shm"}, &inParts{}
	if _, err := multi.Opener(multi.Part{Open: p.open})(h); err != nil {
		t.Fatal(err)
	}
	taker, ok := p.h.(netio.PartsHandler)
	if !ok || !taker.OnDataParts(nil, []byte{1}, []byte{2}) || h.parts != 1 {
		t.Errorf("got %d, takes parts %t, want one", h.parts, ok)
	}
	p.h.OnConnectionRefused(addr, errOpen)
	if via := (*netio.ViaError)(nil); len(h.errs) != 1 || !errors.As(h.errs[0], &via) {
		t.Errorf("got refusals %v, want one that names the backend", h.errs)
	}
}

func TestABackendThatCannotBeOpened(t *testing.T) {
	p := &part{name: "tcp"}
	if _, err := multi.Opener(multi.Part{Open: p.open}, multi.Part{Open: fails})(&refusals{}); !errors.Is(err, errOpen) || p.closed != 1 {
		t.Errorf("got %v, %d closed, want the error, and the other closed", err, p.closed)
	}
	var missing error
	b, err := multi.Opener(multi.Part{Open: fails, Missing: func(err error) { missing = err }}, multi.Part{Open: p.open})(&refusals{})
	if err != nil || b.Name() != "tcp" || !errors.Is(missing, errOpen) {
		t.Errorf("got %v, told %v, want tcp alone", err, missing)
	}
	if _, err := multi.Opener(multi.Part{Open: fails, Missing: func(error) {}})(&refusals{}); !errors.Is(err, errOpen) {
		t.Errorf("without any: got %v, want the error", err)
	}
}

// A backend by itself is all that there is.
func TestBackendsOfOne(t *testing.T) {
	p := &part{name: "tcp"}
	if all := netio.Backends(p); len(all) != 1 || all[0] != netio.Backend(p) {
		t.Errorf("got %v, want itself", all)
	}
}
