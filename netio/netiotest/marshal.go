// SPDX-License-Identifier: Apache-2.0

package netiotest

import (
	"net/netip"

	"tagbus/netio"
)

// marshal stands between the suite and a backend that is netio.Unsafe: it calls
// every method that the contract restricts on the loop, and waits for it where
// its caller is elsewhere. So the same tests, with their many goroutines, run
// against both models. Its endpoints and listen endpoints do likewise.
type marshal struct {
	netio.Backend
	h         netio.Handler
	endpoints map[netio.Endpoint]*marshalEndpoint // loop only
}

// openMarshal opens a backend behind a marshal, which reports to h.
func openMarshal(h netio.Handler, open func(h netio.Handler) netio.Backend) *marshal {
	m := &marshal{h: h, endpoints: map[netio.Endpoint]*marshalEndpoint{}}
	var heard netio.Handler = (*marshalHandler)(m)
	if parts, ok := h.(netio.PartsHandler); ok {
		heard = marshalParts{(*marshalHandler)(m), parts}
	}
	m.Backend = open(heard)
	return m
}

// do runs f where the backend may be called: on the loop, or here when the loop
// has ended, where no two goroutines of a test call at once.
func (m *marshal) do(f func()) {
	if m.Loop().OnLoop() {
		f()
		return
	}
	done := make(chan struct{})
	if m.Loop().Post(func() { defer close(done); f() }) {
		<-done
		return
	}
	f()
}

// OpenListenEndpoint implements netio.Backend.
func (m *marshal) OpenListenEndpoint(addr netip.AddrPort, p netio.Params) (l netio.ListenEndpoint, err error) {
	m.do(func() { l, err = m.Backend.OpenListenEndpoint(addr, p) })
	if err != nil {
		return nil, err
	}
	return &marshalListener{ListenEndpoint: l, m: m}, nil
}

// OpenEndpoint implements netio.Backend.
func (m *marshal) OpenEndpoint(addr netip.AddrPort, p netio.Params) (err error) {
	m.do(func() { err = m.Backend.OpenEndpoint(addr, p) })
	return err
}

// marshalListener is a listen endpoint of a marshal.
type marshalListener struct {
	netio.ListenEndpoint
	m *marshal
}

// Addr implements netio.ListenEndpoint.
func (l *marshalListener) Addr() (addr netip.AddrPort) {
	l.m.do(func() { addr = l.ListenEndpoint.Addr() })
	return addr
}

// Close implements netio.ListenEndpoint.
func (l *marshalListener) Close() (err error) {
	l.m.do(func() { err = l.ListenEndpoint.Close() })
	return err
}

// marshalEndpoint is an endpoint of a marshal. Context and SetContext are for
// the loop anyway.
type marshalEndpoint struct {
	netio.Endpoint
	m *marshal
}

// Local implements netio.Endpoint.
func (e *marshalEndpoint) Local() (addr netip.AddrPort) {
	e.m.do(func() { addr = e.Endpoint.Local() })
	return addr
}

// Remote implements netio.Endpoint.
func (e *marshalEndpoint) Remote() (addr netip.AddrPort) {
	e.m.do(func() { addr = e.Endpoint.Remote() })
	return addr
}

// Backend implements netio.Endpoint.
func (e *marshalEndpoint) Backend() (name string) {
	e.m.do(func() { name = e.Endpoint.Backend() })
	return name
}

// Capabilities implements netio.Endpoint.
func (e *marshalEndpoint) Capabilities() (c netio.Capabilities) {
	e.m.do(func() { c = e.Endpoint.Capabilities() })
	return c
}

// Buffer implements netio.Endpoint.
func (e *marshalEndpoint) Buffer() (b *netio.Buffer, err error) {
	e.m.do(func() { b, err = e.Endpoint.Buffer() })
	return b, err
}

// SendBuffer implements netio.Endpoint.
func (e *marshalEndpoint) SendBuffer(b *netio.Buffer) (err error) {
	e.m.do(func() { err = e.Endpoint.SendBuffer(b) })
	return err
}

// Send implements netio.Endpoint.
func (e *marshalEndpoint) Send(key netio.Key, header []byte, data ...[]byte) (err error) {
	e.m.do(func() { err = e.Endpoint.Send(key, header, data...) })
	return err
}

// SendCopy implements netio.Endpoint.
func (e *marshalEndpoint) SendCopy(key netio.Key, header []byte, data ...[]byte) (err error) {
	e.m.do(func() { err = e.Endpoint.SendCopy(key, header, data...) })
	return err
}

// SendDirect implements netio.Endpoint.
func (e *marshalEndpoint) SendDirect(key netio.Key, header []byte, data ...[]byte) (done bool, err error) {
	e.m.do(func() { done, err = e.Endpoint.SendDirect(key, header, data...) })
	return done, err
}

// Retain implements netio.Endpoint.
func (e *marshalEndpoint) Retain() (r netio.Retained, err error) {
	e.m.do(func() { r, err = e.Endpoint.Retain() })
	return r, err
}

// Room implements netio.Endpoint.
func (e *marshalEndpoint) Room() (r netio.Room) {
	e.m.do(func() { r = e.Endpoint.Room() })
	return r
}

// PauseReceive implements netio.Endpoint.
func (e *marshalEndpoint) PauseReceive() { e.m.do(e.Endpoint.PauseReceive) }

// ResumeReceive implements netio.Endpoint.
func (e *marshalEndpoint) ResumeReceive() { e.m.do(e.Endpoint.ResumeReceive) }

// Close implements netio.Endpoint.
func (e *marshalEndpoint) Close() (err error) {
	e.m.do(func() { err = e.Endpoint.Close() })
	return err
}

// marshalHandler is what the backend behind a marshal reports to.
type marshalHandler marshal

// endpoint returns the one that stands for ep, always the same.
func (h *marshalHandler) endpoint(ep netio.Endpoint) *marshalEndpoint {
	e := h.endpoints[ep]
	if e == nil {
		e = &marshalEndpoint{Endpoint: ep, m: (*marshal)(h)}
		h.endpoints[ep] = e
	}
	return e
}

// OnConnectionEstablished implements netio.Handler.
func (h *marshalHandler) OnConnectionEstablished(ep netio.Endpoint) {
	h.h.OnConnectionEstablished(h.endpoint(ep))
}

// OnConnectionRefused implements netio.Handler.
func (h *marshalHandler) OnConnectionRefused(addr netip.AddrPort, err error) {
	h.h.OnConnectionRefused(addr, err)
}

// OnConnectionClosed implements netio.Handler.
func (h *marshalHandler) OnConnectionClosed(ep netio.Endpoint, keys []netio.Key, cause error) {
	h.h.OnConnectionClosed(h.endpoint(ep), keys, cause)
}

// OnData implements netio.Handler.
func (h *marshalHandler) OnData(ep netio.Endpoint, data []byte) { h.h.OnData(h.endpoint(ep), data) }

// marshalParts is a marshalHandler whose user takes messages in parts.
type marshalParts struct {
	*marshalHandler
	parts netio.PartsHandler
}

// OnDataParts implements netio.PartsHandler.
func (h marshalParts) OnDataParts(ep netio.Endpoint, head, data []byte) (taken bool) {
	return h.parts.OnDataParts(h.endpoint(ep), head, data)
}

// OnSendCompleted implements netio.Handler.
func (h *marshalHandler) OnSendCompleted(c netio.Completion) {
	h.h.OnSendCompleted(netio.Completion{Endpoint: h.endpoint(c.Endpoint), Key: c.Key})
}

// OnSendReady implements netio.Handler.
func (h *marshalHandler) OnSendReady(ep netio.Endpoint) { h.h.OnSendReady(h.endpoint(ep)) }
