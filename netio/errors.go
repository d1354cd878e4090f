// SPDX-License-Identifier: Apache-2.0

package netio

import (
	"errors"
	"net/netip"
	"strings"

	"tagbus/internal/sanitize"
)

var (
	// ErrNoResources is returned by the sending methods when no buffer or no
	// place in the queue is free. Nothing was accepted; the same call may
	// succeed after OnSendReady.
	//
	// Source: netio3 NetioStatus::NO_RESOURCES.
	ErrNoResources = errors.New("netio: no resources: retry after a completion")

	// ErrClosed is returned by every method of a closed backend, endpoint or
	// listen endpoint.
	ErrClosed = errors.New("netio: closed")

	// ErrNotSupported is returned for a way of sending that the backend does
	// not have or that the endpoint's Params did not ask for.
	//
	// Source: netio3 NotSupported, NoBuffersAllocated.
	ErrNotSupported = errors.New("netio: not supported by this endpoint")

	// ErrNotBuiltIn is returned by a backend that this program was built
	// without.
	ErrNotBuiltIn = errors.New("netio: backend not built in")

	// ErrInvalidConfig is wrapped by every violation that the Validate of a
	// backend's configuration reports.
	ErrInvalidConfig = errors.New("netio: invalid configuration")

	// ErrEmptyMessage is returned for a send of zero bytes: a message has at
	// least one.
	ErrEmptyMessage = errors.New("netio: a message needs at least one byte")

	// ErrTooLarge is returned for a send that the peer could not receive.
	ErrTooLarge = errors.New("netio: message larger than the limit")

	// ErrHeaderTooLarge is returned for a header of more than MaxHeaderBytes.
	ErrHeaderTooLarge = errors.New("netio: header larger than 16 bytes")

	// ErrOutsideRegion is returned by Send for data that does not lie in
	// ZeroCopyParams.Region, by a backend whose devices know no other memory: see
	// Capabilities.AnyMemory. Send from there, or copy into a buffer.
	//
	// Source: netio3 zero-copy sending.
	ErrOutsideRegion = errors.New("netio: data outside Params.ZeroCopy.Region")

	// ErrForeignBuffer is returned by SendBuffer for a buffer that the
	// endpoint did not hand out or that was sent or released already.
	ErrForeignBuffer = errors.New("netio: buffer does not belong to this endpoint")

	// ErrInvalidAddress is returned for an address that cannot be used, such
	// as the zero AddrPort, or port 0 to connect to.
	//
	// Source: netio3 InvalidEndpointAddress.
	ErrInvalidAddress = errors.New("netio: invalid address")

	// ErrInvalidParams is wrapped by every violation that Params.Validate
	// reports.
	//
	// Source: netio3 InvalidConnectionParameters.
	ErrInvalidParams = errors.New("netio: invalid parameters")

	// ErrListenEndpointExists is returned by OpenListenEndpoint when this
	// backend already listens on the address.
	//
	// Source: netio3 ListenEndpointAlreadyExists.
	ErrListenEndpointExists = errors.New("netio: already listening on this address")

	// ErrEndpointExists is returned by OpenEndpoint when this backend already
	// has, or is opening, an active endpoint to the address.
	//
	// Source: netio3 ActiveEndpointAlreadyExists.
	ErrEndpointExists = errors.New("netio: an endpoint to this address is already open")

	// ErrMessageLength is the cause with which an endpoint closes when the
	// peer announced a message of zero bytes or of more than the limit. It
	// usually means that something else than a netio peer has connected.
	ErrMessageLength = errors.New("netio: peer announced an impossible message length")

	// ErrTruncated is the cause with which an endpoint closes when the peer
	// went away in the middle of a message. The part was discarded.
	ErrTruncated = errors.New("netio: connection ended in the middle of a message")

	// ErrNoMemory is wrapped in the error for memory that the system does not have
	// or does not give: ask for less, or raise the limit that the error names.
	ErrNoMemory = errors.New("netio: not enough memory")

	// ErrNoMessage is returned by Endpoint.Retain outside OnData: there is no
	// message to keep.
	ErrNoMessage = errors.New("netio: no message is being delivered: retain it inside OnData")

	// ErrElsewhere is wrapped in the error of OpenEndpoint's address if that is a name
	// that no process of this host has had; the backend reaches no other host.
	ErrElsewhere = errors.New("netio: no process of this host has this name")

	// ErrTimeout is the cause of OnConnectionRefused when the peer did not
	// answer within Params.ConnectTimeout, and of OnConnectionClosed when the
	// peer stopped in the middle of a message while others waited for the
	// shared buffer that holds its part.
	ErrTimeout = errors.New("netio: timed out")
)

// OpError says which operation failed on which address.
type OpError struct {
	Op   string         // "open listen endpoint", "open endpoint", "receive", "send", "accept"
	Addr netip.AddrPort // local address when listening, else the remote one
	Err  error
}

// Error returns, for example, "netio: open endpoint 10.0.0.1:1337: connection
// refused".
func (e *OpError) Error() string {
	// The prefix of our own sentinels would stand twice.
	return sanitize.Linef("netio: %s %v: %s", e.Op, e.Addr, strings.TrimPrefix(sanitize.Error(e.Err), "netio: "))
}

// Unwrap returns the cause.
func (e *OpError) Unwrap() error { return e.Err }

// ViaError is the error of OnConnectionRefused of a backend that has several: it says by
// which one the connection was to be opened.
type ViaError struct {
	Backend string // its name
	Err     error
}

// Error names the backend before the error.
func (e *ViaError) Error() string {
	return sanitize.Linef("by %s: %s", e.Backend, sanitize.Error(e.Err))
}

// Unwrap returns the error of the backend.
func (e *ViaError) Unwrap() error { return e.Err }
