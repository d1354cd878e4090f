// SPDX-License-Identifier: Apache-2.0

package netiotest_test

import (
	"net/netip"
	"sync/atomic"

	"tagbus/netio"
)

// broken wraps a backend and lets a test put itself between it and its user,
// in both directions. A nil function changes nothing. Its maps are used on the
// loop only.
type broken struct {
	netio.Backend
	h         netio.Handler
	endpoints map[netio.Endpoint]*brokenEndpoint
	count     map[string]int // of the callbacks, by name
	held      []func()       // callbacks held back

	closes atomic.Int32

	takers map[*netio.Buffer]*brokenEndpoint // who has taken a buffer; for the one goroutine of a test

	faults
}

// faults are what is wrong with a broken backend.
type faults struct {
	base netio.Config // of the suite that is to notice

	config      func(c *netio.Config)
	openError   func(err error) error // not nil
	params      func(p *netio.Params)
	paramsError func(err error) error // not nil

	established func(b *broken, call func())
	refused     func(b *broken, call func())
	closed      func(b *broken, keys []netio.Key, cause error, call func([]netio.Key, error))
	data        func(b *broken, data []byte, call func([]byte))
	parts       func(b *broken, data []byte, offer func(head, data []byte) (taken bool), call func([]byte)) // of a user that takes some
	completed   func(b *broken, key netio.Key, call func(netio.Key))
	ready       func(b *broken, call func())

	send     func(e *brokenEndpoint, key netio.Key, header []byte, data [][]byte) error
	sendCopy func(e *brokenEndpoint, key netio.Key, header []byte, data [][]byte) error
	direct   func(e *brokenEndpoint, key netio.Key, header []byte, data [][]byte) (bool, error)
	buffer   func(e *brokenEndpoint) (*netio.Buffer, error)
	sendBuf  func(e *brokenEndpoint, b *netio.Buffer) error
	room     func(r *netio.Room)
	retain   func(e *brokenEndpoint) (netio.Retained, error)
	pause    func(e *brokenEndpoint)
	close    func(e *brokenEndpoint) error
	local    func(e *brokenEndpoint) netip.AddrPort
	closeAll func(b *broken) error
}

// brokenEndpoint wraps an endpoint of a broken backend.
type brokenEndpoint struct {
	netio.Endpoint
	b *broken
}

func (f faults) opener(open netio.Opener) netio.Opener {
	return func(h netio.Handler) (netio.Backend, error) {
		b := &broken{h: h, faults: f, endpoints: map[netio.Endpoint]*brokenEndpoint{}, count: map[string]int{}, takers: map[*netio.Buffer]*brokenEndpoint{}}
		inner, err := open((*brokenHandler)(b))
		b.Backend = inner
		if err != nil && f.openError != nil {
			err = f.openError(err)
		}
		return b, err
	}
}

// nth counts and reports whether this is the nth call of a kind, from 1.
func (b *broken) nth(kind string, n int) bool {
	b.count[kind]++
	return b.count[kind] == n
}

func (b *broken) OpenListenEndpoint(addr netip.AddrPort, p netio.Params) (netio.ListenEndpoint, error) {
	if b.params != nil {
		b.params(&p)
	}
	l, err := b.Backend.OpenListenEndpoint(addr, p)
	if err != nil && b.paramsError != nil {
		err = b.paramsError(err)
	}
	return l, err
}

func (b *broken) OpenEndpoint(addr netip.AddrPort, p netio.Params) error {
	if b.params != nil {
		b.params(&p)
	}
	err := b.Backend.OpenEndpoint(addr, p)
	if err != nil && b.paramsError != nil {
		err = b.paramsError(err)
	}
	return err
}

func (b *broken) Close() error {
	if b.closeAll != nil {
		return b.closeAll(b)
	}
	return b.Backend.Close()
}

func (e *brokenEndpoint) Send(key netio.Key, header []byte, data ...[]byte) error {
	if e.b.send != nil {
		return e.b.send(e, key, header, data)
	}
	return e.Endpoint.Send(key, header, data...)
}

func (e *brokenEndpoint) SendCopy(key netio.Key, header []byte, data ...[]byte) error {
	if e.b.sendCopy != nil {
		return e.b.sendCopy(e, key, header, data)
	}
	return e.Endpoint.SendCopy(key, header, data...)
}

func (e *brokenEndpoint) SendDirect(key netio.Key, header []byte, data ...[]byte) (bool, error) {
	if e.b.direct != nil {
		return e.b.direct(e, key, header, data)
	}
	return e.Endpoint.SendDirect(key, header, data...)
}

func (e *brokenEndpoint) Buffer() (*netio.Buffer, error) {
	if e.b.buffer != nil {
		return e.b.buffer(e)
	}
	return e.Endpoint.Buffer()
}

func (e *brokenEndpoint) SendBuffer(b *netio.Buffer) error {
	if e.b.sendBuf != nil {
		return e.b.sendBuf(e, b)
	}
	return e.Endpoint.SendBuffer(b)
}

func (e *brokenEndpoint) Room() netio.Room {
	r := e.Endpoint.Room()
	if e.b.room != nil {
		e.b.room(&r)
	}
	return r
}

func (e *brokenEndpoint) Retain() (netio.Retained, error) {
	if e.b.retain != nil {
		return e.b.retain(e)
	}
	return e.Endpoint.Retain()
}

func (e *brokenEndpoint) PauseReceive() {
	if e.b.pause != nil {
		e.b.pause(e)
		return
	}
	e.Endpoint.PauseReceive()
}

func (e *brokenEndpoint) Close() error {
	if e.b.close != nil {
		return e.b.close(e)
	}
	return e.Endpoint.Close()
}

func (e *brokenEndpoint) Local() netip.AddrPort {
	if e.b.local != nil {
		return e.b.local(e)
	}
	return e.Endpoint.Local()
}

// brokenHandler is what the wrapped backend reports to.
type brokenHandler broken

func (h *brokenHandler) OnConnectionEstablished(ep netio.Endpoint) {
	e := &brokenEndpoint{Endpoint: ep, b: (*broken)(h)}
	h.endpoints[ep] = e
	call := func() { h.h.OnConnectionEstablished(e) }
	if h.established != nil {
		h.established((*broken)(h), call)
		return
	}
	call()
}

func (h *brokenHandler) OnConnectionRefused(addr netip.AddrPort, err error) {
	call := func() { h.h.OnConnectionRefused(addr, err) }
	if h.refused != nil {
		h.refused((*broken)(h), call)
		return
	}
	call()
}

func (h *brokenHandler) OnConnectionClosed(ep netio.Endpoint, keys []netio.Key, cause error) {
	e := h.endpoints[ep]
	call := func(keys []netio.Key, cause error) { h.h.OnConnectionClosed(e, keys, cause) }
	if h.closed != nil {
		h.closed((*broken)(h), keys, cause, call)
		return
	}
	call(keys, cause)
}

func (h *brokenHandler) OnData(ep netio.Endpoint, data []byte) {
	e := h.endpoints[ep]
	call := func(data []byte) { h.h.OnData(e, data) }
	if user, ok := h.h.(netio.PartsHandler); ok && h.parts != nil {
		h.parts((*broken)(h), data, func(head, data []byte) bool { return user.OnDataParts(e, head, data) }, call)
		return
	}
	if h.data != nil {
		h.data((*broken)(h), data, call)
		return
	}
	call(data)
}

func (h *brokenHandler) OnSendCompleted(c netio.Completion) {
	e := h.endpoints[c.Endpoint]
	call := func(key netio.Key) { h.h.OnSendCompleted(netio.Completion{Endpoint: e, Key: key}) }
	if h.completed != nil {
		h.completed((*broken)(h), c.Key, call)
		return
	}
	call(c.Key)
}

func (h *brokenHandler) OnSendReady(ep netio.Endpoint) {
	e := h.endpoints[ep]
	call := func() { h.h.OnSendReady(e) }
	if h.ready != nil {
		h.ready((*broken)(h), call)
		return
	}
	call()
}

// release makes the callbacks that were held back.
func (b *broken) release() {
	held := b.held
	b.held = nil
	for _, f := range held {
		f()
	}
}
