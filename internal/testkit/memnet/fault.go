// SPDX-License-Identifier: Apache-2.0

package memnet

import (
	"errors"
	"io"
	"net/netip"
	"sync"
	"sync/atomic"
	"syscall"

	"tagbus/netio"
)

// Fault is the one failure that FailNth injects. Set N and Err before the
// backend is opened; read the rest at any time.
type Fault struct {
	// N is the number of the call that fails, from 1, counted over all calls
	// that can fail: OpenListenEndpoint, OpenEndpoint, Buffer, SendBuffer,
	// Send, SendCopy and SendDirect. 0: none fails.
	N int64

	// Err says how it fails.
	//
	//   - nil: as if something had run out for a moment. Buffer, SendBuffer,
	//     Send, SendCopy and SendDirect return netio.ErrNoResources, and the OnSendReady
	//     that the contract promises follows on the loop. OpenListenEndpoint
	//     returns EMFILE; OpenEndpoint returns nil, and the connection is
	//     refused with ECONNREFUSED.
	//   - netio.ErrClosed: as if the connection had just broken. The methods of
	//     an endpoint return it, and OnConnectionClosed follows with the
	//     outstanding keys and ECONNRESET. OpenListenEndpoint and OpenEndpoint
	//     return it, in an *OpError.
	//   - any other: the call returns it, in an *OpError if that is the
	//     method's way, and nothing else happens.
	Err error

	calls atomic.Int64
	mu    sync.Mutex
	call  string
}

// Fired reports whether the fault has happened. When it has not, N is greater
// than the number of calls, and a loop over N has tried them all.
func (f *Fault) Fired() bool { return f.Call() != "" }

// Call returns the name of the method that failed, or "".
func (f *Fault) Call() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.call
}

// Calls returns how many calls have been counted.
func (f *Fault) Calls() int64 { return f.calls.Load() }

// strikes counts a call and reports whether it is the one to fail.
func (f *Fault) strikes(call string) bool {
	if f.calls.Add(1) != f.N {
		return false
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.call = call
	return true
}

// FailNth returns an Opener of backends that are those of open except one
// call, which fails as f says. Backends that are opened by one such Opener
// count together.
func FailNth(open netio.Opener, f *Fault) netio.Opener {
	return func(h netio.Handler) (netio.Backend, error) {
		w := &faultBackend{h: h, fault: f, endpoints: map[netio.Endpoint]*faultEndpoint{}}
		b, err := open((*faultHandler)(w))
		if err != nil {
			return nil, err
		}
		w.Backend = b
		return w, nil
	}
}

// faultBackend wraps a backend. Its endpoints are wrapped too, as their methods
// can fail; endpoints maps the backend's to ours, on the loop only.
type faultBackend struct {
	netio.Backend
	h         netio.Handler
	fault     *Fault
	endpoints map[netio.Endpoint]*faultEndpoint
}

// OpenListenEndpoint implements netio.Backend.
func (b *faultBackend) OpenListenEndpoint(addr netip.AddrPort, p netio.Params) (netio.ListenEndpoint, error) {
	if b.fault.strikes("OpenListenEndpoint") {
		err := b.fault.Err
		if err == nil {
			err = syscall.EMFILE
		}
		return nil, &netio.OpError{Op: "open listen endpoint", Addr: addr, Err: err}
	}
	return b.Backend.OpenListenEndpoint(addr, p)
}

// OpenEndpoint implements netio.Backend.
func (b *faultBackend) OpenEndpoint(addr netip.AddrPort, p netio.Params) error {
	if !b.fault.strikes("OpenEndpoint") {
		return b.Backend.OpenEndpoint(addr, p)
	}
	if err := b.fault.Err; err != nil {
		return &netio.OpError{Op: "open endpoint", Addr: addr, Err: err}
	}
	b.Loop().Post(func() {
		b.h.OnConnectionRefused(addr, &netio.OpError{Op: "open endpoint", Addr: addr, Err: syscall.ECONNREFUSED})
	})
	return nil
}

// faultEndpoint wraps an endpoint.
type faultEndpoint struct {
	netio.Endpoint
	b      *faultBackend
	broken atomic.Bool // by the fault
	silent atomic.Bool // its user has closed it, or OnConnectionClosed was called
}

// fail makes a call of the endpoint fail, after it was counted.
func (e *faultEndpoint) fail() error {
	err := e.b.fault.Err
	switch {
	case err == nil:
		e.b.Loop().Post(func() {
			if !e.silent.Load() {
				e.b.h.OnSendReady(e)
			}
		})
		return netio.ErrNoResources
	case errors.Is(err, netio.ErrClosed):
		e.broken.Store(true)
		// Fails only if it is closed already, which is what is wanted.
		_ = e.Endpoint.Close()
	}
	return err
}

// Buffer implements netio.Endpoint.
func (e *faultEndpoint) Buffer() (*netio.Buffer, error) {
	if e.b.fault.strikes("Buffer") {
		return nil, e.fail()
	}
	return e.Endpoint.Buffer()
}

// SendBuffer implements netio.Endpoint.
func (e *faultEndpoint) SendBuffer(b *netio.Buffer) error {
	if e.b.fault.strikes("SendBuffer") {
		return e.fail()
	}
	return e.Endpoint.SendBuffer(b)
}

// Send implements netio.Endpoint.
func (e *faultEndpoint) Send(key netio.Key, header []byte, data ...[]byte) error {
	if e.b.fault.strikes("Send") {
		return e.fail()
	}
	return e.Endpoint.Send(key, header, data...)
}

// SendCopy implements netio.Endpoint.
func (e *faultEndpoint) SendCopy(key netio.Key, header []byte, data ...[]byte) error {
	if e.b.fault.strikes("SendCopy") {
		return e.fail()
	}
	return e.Endpoint.SendCopy(key, header, data...)
}

// SendDirect implements netio.Endpoint.
func (e *faultEndpoint) SendDirect(key netio.Key, header []byte, data ...[]byte) (bool, error) {
	if e.b.fault.strikes("SendDirect") {
		return false, e.fail()
	}
	return e.Endpoint.SendDirect(key, header, data...)
}

// Close implements netio.Endpoint. One that the fault has broken but whose
// user does not know it yet closes without an error, as any other.
func (e *faultEndpoint) Close() error {
	first := !e.silent.Swap(true)
	err := e.Endpoint.Close()
	if first && e.broken.Load() {
		return nil
	}
	return err
}

// faultHandler is what the wrapped backend reports to.
type faultHandler faultBackend

// OnConnectionEstablished implements netio.Handler.
func (h *faultHandler) OnConnectionEstablished(ep netio.Endpoint) {
	e := &faultEndpoint{Endpoint: ep, b: (*faultBackend)(h)}
	h.endpoints[ep] = e
	h.h.OnConnectionEstablished(e)
}

// OnConnectionRefused implements netio.Handler.
func (h *faultHandler) OnConnectionRefused(addr netip.AddrPort, err error) {
	h.h.OnConnectionRefused(addr, err)
}

// OnConnectionClosed implements netio.Handler.
func (h *faultHandler) OnConnectionClosed(ep netio.Endpoint, keys []netio.Key, cause error) {
	e := h.endpoints[ep]
	delete(h.endpoints, ep)
	if closedByUser := e.silent.Swap(true); e.broken.Load() && !closedByUser && (cause == nil || errors.Is(cause, io.EOF)) {
		cause = &netio.OpError{Op: "send", Addr: ep.Remote(), Err: syscall.ECONNRESET}
	}
	h.h.OnConnectionClosed(e, keys, cause)
}

// OnData implements netio.Handler.
func (h *faultHandler) OnData(ep netio.Endpoint, data []byte) { h.h.OnData(h.endpoints[ep], data) }

// OnSendCompleted implements netio.Handler.
func (h *faultHandler) OnSendCompleted(c netio.Completion) {
	h.h.OnSendCompleted(netio.Completion{Endpoint: h.endpoints[c.Endpoint], Key: c.Key})
}

// OnSendReady implements netio.Handler.
func (h *faultHandler) OnSendReady(ep netio.Endpoint) { h.h.OnSendReady(h.endpoints[ep]) }
