// SPDX-License-Identifier: Apache-2.0

package netio

import (
	"math"
	"time"

	"tagbus/internal/validate"
)

// DefaultConnectTimeout is Params.ConnectTimeout unless set.
const DefaultConnectTimeout = 5 * time.Second

// Further defaults and limits of Params.
const (
	defaultMaxMessageBytes = 1 << 20
	defaultOutstanding     = 64
	defaultBufferBytes     = 1 << 16
	maxMessageBytesLimit   = math.MaxInt32
	maxBuffers             = 1 << 16
	maxOutstandingLimit    = 1 << 16
	minConnectTimeout      = time.Millisecond
)

// Params says what an endpoint must be able to do. For a listen endpoint it
// holds for every endpoint accepted there. The zero value receives messages of
// up to 1 MiB and sends without buffers.
type Params struct {
	Receive  ReceiveParams
	Buffered BufferedParams
	ZeroCopy ZeroCopyParams

	// Context becomes Endpoint.Context of the endpoints opened with it.
	Context any

	// ConnectTimeout bounds OpenEndpoint. Default 5 s. Not used for listening.
	ConnectTimeout time.Duration
}

// ReceiveParams sizes the receive side of an endpoint.
//
// Source: netio3 recv_params.
type ReceiveParams struct {
	// MaxMessageBytes is the largest message accepted, 1 to 2^31-1. Default
	// 1 MiB. A peer that announces more is disconnected with ErrMessageLength.
	MaxMessageBytes int

	// Buffers is the number of receive buffers, of MaxMessageBytes each, up to
	// 65,536: what the endpoint can hold of messages that OnData has not seen.
	// 0 leaves the memory to the backend; then netio/tcp takes as much as the
	// peer's messages need, and a backend that cannot do so does not receive.
	Buffers int

	// Shared makes all endpoints that a listen endpoint accepts share Buffers, so
	// that memory does not grow with their number. Not for OpenEndpoint.
	Shared bool

	// FirstMessageBytes limits the first message of an endpoint, so that a
	// stranger cannot make this side hold more before it has introduced itself.
	// 0 means MaxMessageBytes.
	FirstMessageBytes int
}

// BufferedParams sizes the send buffers of an endpoint.
//
// Source: netio3 send_buffered_params.
type BufferedParams struct {
	// Buffers is the number of send buffers; 0 means that the endpoint does
	// not send buffered, unless the backend shares send buffers.
	Buffers int

	// BufferBytes is the size of each. Default 64 KiB.
	BufferBytes int
}

// ZeroCopyParams sizes the zero-copy side of an endpoint.
//
// Source: netio3 send_zero_copy_params.
type ZeroCopyParams struct {
	// Outstanding is the number of accepted and not yet completed sends of all
	// kinds from which on Send, SendCopy and SendDirect are refused, 1 to 65,536.
	// Default 64.
	Outstanding int

	// Region is the memory that Send may send from. A backend without memory
	// registration (TCP) ignores it; RDMA refuses to send from elsewhere.
	Region []byte
}

// WithDefaults returns p with every zero field replaced by its default.
func (p Params) WithDefaults() Params {
	validate.Default(&p.Receive.MaxMessageBytes, defaultMaxMessageBytes)
	validate.Default(&p.Receive.FirstMessageBytes, p.Receive.MaxMessageBytes)
	validate.Default(&p.Buffered.BufferBytes, defaultBufferBytes)
	validate.Default(&p.ZeroCopy.Outstanding, defaultOutstanding)
	validate.Default(&p.ConnectTimeout, DefaultConnectTimeout)
	return p
}

// Validate reports all violations of p, joined; each wraps ErrInvalidParams
// and names the field, its value and its limit. Zero fields are valid.
func (p Params) Validate() error {
	p = p.WithDefaults()
	v := validate.Violations{Kind: ErrInvalidParams}
	validate.Within(&v, "Receive.MaxMessageBytes", p.Receive.MaxMessageBytes, 1, maxMessageBytesLimit)
	validate.Within(&v, "Receive.FirstMessageBytes", p.Receive.FirstMessageBytes, 1, max(1, p.Receive.MaxMessageBytes))
	validate.Within(&v, "Receive.Buffers", p.Receive.Buffers, 0, maxBuffers)
	if p.Receive.Shared && p.Receive.Buffers == 0 {
		v.Add("Receive.Buffers is 0 and Receive.Shared is true, want 1 to %d: the number of buffers to share", maxBuffers)
	}
	validate.Within(&v, "Buffered.Buffers", p.Buffered.Buffers, 0, maxBuffers)
	validate.Within(&v, "Buffered.BufferBytes", p.Buffered.BufferBytes, 1, maxMessageBytesLimit)
	validate.Within(&v, "ZeroCopy.Outstanding", p.ZeroCopy.Outstanding, 1, maxOutstandingLimit)
	validate.Within(&v, "ConnectTimeout", p.ConnectTimeout, minConnectTimeout, validate.MaxDuration)
	return v.Err()
}
