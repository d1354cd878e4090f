// SPDX-License-Identifier: Apache-2.0

package bus

import (
	"encoding/hex"

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

// RequestID returns the id of the request that m is, or is a reply to. It is zero for other
// messages, and after Release. The id itself is valid for ever, unlike Data.
//
// Threads: any, but not while Retain runs.
func (m *Message) RequestID() RequestID {
	return RequestID{wire.ID(m.origin.ID(m.turn))}
}
