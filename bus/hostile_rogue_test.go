// SPDX-License-Identifier: Apache-2.0

package bus_test

import (
	"net/netip"
	"slices"

	"tagbus/netio"
	"tagbus/subscription"
)

// rogue is a peer that does what a program says. Everything runs on the loop.
type rogue struct {
	netio.NopHandler
	h       *hostileBed
	backend netio.Backend
	host    netip.Addr
	ep      netio.Endpoint // nil: none
	dialing bool
	waiting [][]byte // to be sent
	greet   func() [][]byte
	hear    func(data []byte)
}

func (h *hostileBed) rogue(host netip.Addr) *rogue {
	r := &rogue{h: h, host: host, hear: func([]byte) {}}
	var err error
	r.backend, err = h.opener(host)(r)
	must(h.t, err)
	return r
}

// params are those of all endpoints of a rogue.
func (*rogue) params() netio.Params {
	return netio.Params{Receive: netio.ReceiveParams{MaxMessageBytes: 1 << 30}}
}

// OnConnectionEstablished implements netio.Handler.
func (r *rogue) OnConnectionEstablished(ep netio.Endpoint) {
	r.ep, r.dialing = ep, false
	if r.greet != nil {
		r.waiting = slices.Concat(r.greet(), r.waiting)
	}
	r.pump()
}

// OnConnectionRefused implements netio.Handler.
func (r *rogue) OnConnectionRefused(netip.AddrPort, error) { r.dialing, r.waiting = false, nil }

// OnConnectionClosed implements netio.Handler.
func (r *rogue) OnConnectionClosed(ep netio.Endpoint, _ []netio.Key, _ error) {
	if r.ep == ep {
		r.ep, r.waiting = nil, nil
	}
}

// OnData implements netio.Handler.
func (r *rogue) OnData(ep netio.Endpoint, data []byte) {
	if r.ep == ep {
		r.hear(data)
	}
}

// OnSendReady implements netio.Handler.
func (r *rogue) OnSendReady(netio.Endpoint) { r.pump() }

// pump sends what waits.
func (r *rogue) pump() {
	for r.ep != nil && len(r.waiting) > 0 && r.ep.SendCopy(0, nil, r.waiting[0]) == nil {
		r.waiting = r.waiting[1:]
	}
}

// send sends messages as they are, or as the program mutates them.
func (r *rogue) send(messages ...[]byte) {
	for _, b := range messages {
		if r.h.mutating != nil && len(b) > 0 {
			b = r.h.mutating(b)
		}
		if len(b) == 0 || r.ep == nil && !r.dialing || r.h.messages == mostMessages || r.h.wire+len(b) > mostWireBytes {
			continue
		}
		r.h.messages++
		r.h.wire += len(b)
		r.waiting = append(r.waiting, b)
	}
	r.pump()
}

// control sends a control message, unless it cannot be encoded.
func (r *rogue) control(m subscription.Message) {
	if b, err := subscription.Append(nil, m); err == nil {
		r.send(b)
	}
}

// raw sends bytes of the program.
func (r *rogue) raw() { r.send(r.h.bytes(int(r.h.byte()))) }

// disconnect ends the connection.
func (r *rogue) disconnect() {
	if r.ep != nil {
		_ = r.ep.Close()
	}
}

// read resumes or stops reading.
func (r *rogue) read(on bool) {
	switch {
	case r.ep == nil:
	case on:
		r.ep.ResumeReceive()
	default:
		r.ep.PauseReceive()
	}
}

// narrow makes the way to, or from, the rogue hold few bytes, or many again.
func (r *rogue) narrow() {
	b := r.h.byte()
	bytes := 256 << 10
	if b&1 != 0 {
		bytes = 64 + 4*int(b)
	}
	if b&2 != 0 {
		r.h.net.SetWindow(anybody, anyPort(r.host), bytes)
	} else {
		r.h.net.SetWindow(anyPort(r.host), anybody, bytes)
	}
}
