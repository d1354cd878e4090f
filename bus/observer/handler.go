// SPDX-License-Identifier: Apache-2.0

package observer

import (
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"time"

	"tagbus/bus"
	"tagbus/bus/internal/ways"
	"tagbus/internal/sanitize"
	"tagbus/netio"
	"tagbus/subscription"
)

// params returns what a connection of an observer must be able to do.
func params(context any, timeout time.Duration) netio.Params {
	return netio.Params{
		Receive:  netio.ReceiveParams{MaxMessageBytes: subscription.MaxControlBytes, FirstMessageBytes: subscription.MaxHelloBytes},
		Buffered: netio.BufferedParams{Buffers: 2, BufferBytes: subscription.MaxControlBytes},
		Context:  context, ConnectTimeout: max(timeout+timeout/4, time.Millisecond), // a question ends before
	}
}

// helloFrom reads the first message of one that is observed: its hello, or its refusal.
//
// Errors: ErrDenied and ErrNotObservable, wrapped; bus.ErrProtocol, wrapped.
func helloFrom(data []byte) (subscription.Hello, error) {
	if subscription.Kind(data[0]) == subscription.KindRefused {
		refused, err := subscription.DecodeRefused(data)
		if err != nil {
			return subscription.Hello{}, fmt.Errorf("%w: %w", bus.ErrProtocol, err)
		}
		reason := reasonOf(refused)
		if strings.Contains(reason, noRule) {
			return subscription.Hello{}, fmt.Errorf("%w: %s", ErrDenied, reason)
		}
		return subscription.Hello{}, fmt.Errorf("%w: %s", ErrNotObservable, reason)
	}
	h, err := subscription.DecodeHello(data)
	if version := (*subscription.VersionError)(nil); errors.As(err, &version) {
		err = fmt.Errorf("%w: %w", ErrNotObservable, err)
	} else if err != nil {
		err = fmt.Errorf("%w: %w", bus.ErrProtocol, err)
	}
	return h, err
}

// noRule is in the text of a refusal by a policy (bus.AccessError), which has no code.
const noRule = "no rule such as"

// reasonOf returns why a peer refuses, as a text that can be shown.
func reasonOf(m *subscription.Refused) string { return sanitize.Line(m.Reason) }

// explain returns the error of a try: a *bus.LoopbackError if the reason is that the entry
// is for its own host only.
func (p *peer) explain(err error) error {
	e := &p.entry
	if p.o.ours.OnlyWithin(*e) {
		if errors.Is(err, netio.ErrElsewhere) {
			err = nil
		}
		return &bus.BackendError{Role: e.Role, Theirs: ways.Text(*e), Ours: p.o.ours.Names(), Err: err}
	}
	if e.Host == "" || p.o.host == "" || e.Host == p.o.host || len(e.Addresses) == 0 {
		return err
	}
	for _, addr := range e.Addresses {
		if !addr.Addr().Unmap().IsLoopback() {
			return err
		}
	}
	return &bus.LoopbackError{Role: e.Role, Host: e.Host, Ours: p.o.host, Addresses: e.Addresses, Err: err}
}

// handler is an Observer as its backend sees it. Every method runs on the loop.
type handler struct{ o *Observer }

// OnConnectionEstablished implements netio.Handler.
func (h handler) OnConnectionEstablished(ep netio.Endpoint) { ep.Context().(*peer).established(ep) }

// OnConnectionRefused implements netio.Handler.
func (h handler) OnConnectionRefused(addr netip.AddrPort, err error) {
	if !h.o.closer.Begun() {
		to := h.o.ours.Refused(addr, err)
		h.o.dialer.Refused(to, err)
		h.o.free(to)
	}
}

// OnConnectionClosed implements netio.Handler.
func (h handler) OnConnectionClosed(ep netio.Endpoint, _ []netio.Key, cause error) {
	if h.o.closer.Begun() {
		return
	}
	addr := ways.TargetOf(ep)
	p := ep.Context().(*peer)
	if p.ep == ep {
		h.o.free(addr) // for those that wait, before this peer dials again
		p.lost(cause)
		return
	}
	delete(h.o.taken, addr) // another address was faster
	h.o.dialer.Freed(addr)
	if h.o.taken[addr] == nil { // it was not dialed again
		h.o.free(addr)
	}
}

// OnData implements netio.Handler.
func (h handler) OnData(ep netio.Endpoint, data []byte) {
	if p := ep.Context().(*peer); p.ep == ep && p.fault == nil {
		p.onData(data)
	}
}

// OnSendCompleted implements netio.Handler.
func (h handler) OnSendCompleted(c netio.Completion) {
	if p := c.Endpoint.Context().(*peer); p.ep == c.Endpoint {
		p.out.Completed()
	}
}

// OnSendReady implements netio.Handler.
func (h handler) OnSendReady(ep netio.Endpoint) {
	if p := ep.Context().(*peer); p.ep == ep {
		p.pump()
	}
}
