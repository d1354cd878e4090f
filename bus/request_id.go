// SPDX-License-Identifier: Apache-2.0

package bus

import (
	"encoding/hex"

	"tagbus/bus/internal/retain"
	"tagbus/bus/internal/wire"
)

// RequestID names one request of one Requester. The bus carries it beside the payload, with
// the command and with the reply. No two requests have the same, so ids can be compared with
// ==. The zero value names no request.
type RequestID struct{ id wire.ID }

// String returns the id in hexadecimal digits, or "none".
func (id RequestID) String() string {
	if id == (RequestID{}) {
		return "none"
	}
	return hex.EncodeToString(id.id[:])
}

// Bytes returns the id as it stands on the wire; all zeros: none.
func (id RequestID) Bytes() [16]byte { return id.id }

// RequestIDOf returns the id that Bytes has given, for example of a message that was
// recorded.
func RequestIDOf(b [16]byte) RequestID { return RequestID{b} }

// WithRequestID returns m with an id, as a message that no subscriber has received. It is
// for what makes messages out of others, such as a recording. Zero: with no id.
func (m Message) WithRequestID(id RequestID) Message {
	m.origin, m.turn = nil, 0
	if id != (RequestID{}) {
		m.origin = retain.Made(retain.ID(id.id))
	}
	return m
}

// RequestID returns the id of the request that m is, or is a reply to. It is zero for other
// messages, and after Release. The id itself is valid for ever, unlike Data.
//
// Threads: any, but not while Retain runs.
func (m *Message) RequestID() RequestID {
	return RequestID{wire.ID(m.origin.ID(m.turn))}
}
