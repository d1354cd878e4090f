// SPDX-License-Identifier: Apache-2.0

package netio

import (
	"net/netip"
	"strings"
)

// Opener creates a Backend that reports to h. Backend packages return one from
// their Opener function, so that the bus can be given a transport without
// knowing which it is.
//
// Errors: all violations of the backend's configuration, joined, each wrapping
// ErrInvalidConfig; ErrNotBuiltIn; the system's.
type Opener func(h Handler) (Backend, error)

// Backend moves messages over one kind of transport.
//
// Source: netio3 NetworkBackend.
type Backend interface {
	// Name returns the backend's name, for example "tcp" or "rdma:verbs", or
	// "rdma:verbs@mlx5_0" if it uses one device only. Both ends of a connection use
	// the same Kind of backend, which is what the directory has.
	Name() string

	// Loop returns the loop on which the Handler is called.
	Loop() Loop

	// OpenListenEndpoint listens on a local address and accepts every
	// connection; each accepted connection is reported by
	// OnConnectionEstablished.
	//
	//   - addr: port 0 lets the system pick; ListenEndpoint.Addr returns it.
	//   - Errors: *OpError with ErrInvalidAddress, ErrListenEndpointExists,
	//     ErrInvalidParams, ErrClosed, or the system's error (a port in use is
	//     syscall.EADDRINUSE).
	//   - Threads: any. Blocks: never.
	OpenListenEndpoint(addr netip.AddrPort, p Params) (ListenEndpoint, error)

	// OpenEndpoint starts to connect to a listen endpoint. The outcome is
	// reported by exactly one of OnConnectionEstablished and
	// OnConnectionRefused with the same address, unless the backend is closed
	// first.
	//
	//   - Errors: *OpError with ErrInvalidAddress, ErrEndpointExists (an active
	//     endpoint to addr is open or being opened), ErrInvalidParams,
	//     ErrClosed, or the system's error; then no callback follows.
	//   - Threads: any. Blocks: never.
	OpenEndpoint(addr netip.AddrPort, p Params) error

	// Stats returns the backend's counters. Threads: any.
	Stats() Stats

	// Close closes every endpoint and listen endpoint, reports their outstanding keys,
	// and releases all resources. It returns when the last callback has run; no
	// callback runs after it. A call from inside a callback, of this loop or another
	// one, cannot wait for itself: it returns at once, and the callbacks of the closing
	// endpoints follow. Later calls wait likewise and return nil.
	//
	//   - Threads: any. Blocks: until the loop has run the closing callbacks;
	//     if the loop no longer runs, they run on the caller's goroutine.
	Close() error
}

// MultiBackend is a Backend that consists of several, which share its loop and its handler.
type MultiBackend interface {
	Backend

	// Backends returns them, the best first. The slice is not to be changed.
	Backends() []Backend
}

// Backends returns the backends of which b consists: those of a MultiBackend, otherwise b.
func Backends(b Backend) []Backend {
	if m, ok := b.(MultiBackend); ok {
		return m.Backends()
	}
	return []Backend{b}
}

// NamedBackend is a Backend for processes of one host, whose addresses are names.
type NamedBackend interface {
	Backend

	// NewName returns a name for a listen endpoint, with port 0. It is a loopback address, and
	// that other processes of any host have the same one is improbable, not impossible.
	NewName() netip.AddrPort
}

// DeviceBackend is a Backend whose addresses are of devices that are as good as each other, so that
// connections are shared out among them.
type DeviceBackend interface {
	Backend

	// Near reports whether a peer is in a network of the device. A backend of any device is near to none.
	Near(peer netip.Addr) bool
}

// deviceMark stands before the device in the name of a backend.
const deviceMark = "@"

// Kind returns the name of a backend without its device: "rdma:verbs" of "rdma:verbs@mlx5_0".
func Kind(name string) string {
	kind, _, _ := strings.Cut(name, deviceMark)
	return kind
}

// WithDevice returns the name of a backend of one device; kind if device is "".
func WithDevice(kind, device string) string {
	if device == "" {
		return kind
	}
	return kind + deviceMark + device
}

// ListenEndpoint accepts connections on one local address.
type ListenEndpoint interface {
	// Addr returns the address that peers dial, with the real port.
	Addr() netip.AddrPort

	// Close stops listening and closes every endpoint accepted here, each
	// reported by OnConnectionClosed. Asynchronous; the second call returns
	// ErrClosed. Threads: any. Blocks: never.
	Close() error
}

// Handler receives what happens on the connections of one Backend.
//
// Threads: every method is called on the backend's loop, one at a time, and
// never from inside a call into the backend. A method must not block: it would
// stop every connection of the loop.
type Handler interface {
	// OnConnectionEstablished hands over a new connection: on the opening side
	// after OpenEndpoint, on the other for each accepted connection. It is the
	// first callback of an endpoint.
	OnConnectionEstablished(ep Endpoint)

	// OnConnectionRefused reports that OpenEndpoint(addr) failed; err says why.
	OnConnectionRefused(addr netip.AddrPort, err error)

	// OnConnectionClosed is the last callback of an endpoint. keys are the
	// sends that were accepted and not completed, in the order of sending;
	// their memory may be used again. The slice is valid until return. cause
	// is nil after a local Close, io.EOF when the peer closed in order, and
	// otherwise an *OpError.
	OnConnectionClosed(ep Endpoint, keys []Key, cause error)

	// OnData delivers one message. data is valid until return.
	OnData(ep Endpoint, data []byte)

	// OnSendCompleted reports that the memory of a send may be used again. It
	// does not say that the peer has read the message. Completions of one
	// endpoint come in the order of sending; a SendDirect that is done has none.
	OnSendCompleted(c Completion)

	// OnSendReady reports, once after each ErrNoResources that a method of ep
	// returned, that a retry may succeed.
	OnSendReady(ep Endpoint)
}

// PartsHandler is a Handler that takes a message whose beginning is apart from the rest. It
// spares a backend to which it comes so (shared memory) that copies the two together; the
// others do not know of it. A backend finds out when it is opened.
//
// A Handler that wraps another one by embedding it has this method of that one, too: if it
// has an OnData of its own, it must have an OnDataParts of its own.
type PartsHandler interface {
	Handler

	// OnDataParts delivers one message instead of OnData. All else is as there: the order,
	// how long the parts are valid, and Endpoint.Retain, which keeps both.
	//
	//   - head: its beginning, 1 to MaxHeaderBytes bytes, which no one changes.
	//   - data: the rest, at least 1 byte.
	//   - taken: if it is false, the handler has done nothing else, and OnData follows with
	//     the whole message.
	OnDataParts(ep Endpoint, head, data []byte) (taken bool)
}

// NopHandler implements Handler by doing nothing. Embed it to implement only
// the methods of interest.
type NopHandler struct{}

// OnConnectionEstablished implements Handler.
func (NopHandler) OnConnectionEstablished(Endpoint) {}

// OnConnectionRefused implements Handler.
func (NopHandler) OnConnectionRefused(netip.AddrPort, error) {}

// OnConnectionClosed implements Handler.
func (NopHandler) OnConnectionClosed(Endpoint, []Key, error) {}

// OnData implements Handler.
func (NopHandler) OnData(Endpoint, []byte) {}

// OnSendCompleted implements Handler.
func (NopHandler) OnSendCompleted(Completion) {}

// OnSendReady implements Handler.
func (NopHandler) OnSendReady(Endpoint) {}

// Stats counts what a backend has done since it was opened.
type Stats struct {
	Accepted     uint64 // connections accepted on listen endpoints
	Opened       uint64 // connections established by OpenEndpoint
	Refused      uint64 // OpenEndpoint calls that ended in OnConnectionRefused
	Closed       uint64 // connections that ended, for any cause
	AcceptErrors uint64 // accept failures that the listen endpoint survived, handshakes of TLS among them
	AcceptShed   uint64 // connections dropped because the process had no free file descriptor, or too many
	BadMessages  uint64 // connections closed because the peer announced an impossible length
	Truncated    uint64 // connections that ended in the middle of a message

	MessagesSent     uint64 // messages handed to the system or the device, whole
	MessagesReceived uint64 // messages delivered by OnData
	BytesSent        uint64 // bytes of those messages, without framing
	BytesReceived    uint64 // bytes of those messages, without framing
	MessagesDirect   uint64 // of MessagesSent those that SendDirect has handed over itself
}

// Add adds the counts of another backend.
func (s *Stats) Add(o Stats) {
	s.Accepted += o.Accepted
	s.Opened += o.Opened
	s.Refused += o.Refused
	s.Closed += o.Closed
	s.AcceptErrors += o.AcceptErrors
	s.AcceptShed += o.AcceptShed
	s.BadMessages += o.BadMessages
	s.Truncated += o.Truncated
	s.MessagesSent += o.MessagesSent
	s.MessagesReceived += o.MessagesReceived
	s.BytesSent += o.BytesSent
	s.BytesReceived += o.BytesReceived
	s.MessagesDirect += o.MessagesDirect
}
