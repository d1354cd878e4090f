// SPDX-License-Identifier: Apache-2.0

package rdma

import "errors"

var (
	// ErrNoDevice is the error of opening a backend, a listen endpoint or an
	// endpoint when libfabric has no device for the provider and the address. See
	// docs/rdma.md for what may be missing.
	ErrNoDevice = errors.New("rdma: no device")

	// ErrIncompatible is the cause of OnConnectionRefused when the other side
	// speaks another protocol than this package.
	ErrIncompatible = errors.New("rdma: the other side does not speak this protocol")

	// ErrCallbackPanicked is the cause, in a *netio.OpError, with which an
	// endpoint closes when a callback of its Handler panicked. The event loop
	// reports the panic itself.
	ErrCallbackPanicked = errors.New("rdma: a callback of the handler panicked")

	// ErrStaleDevice is in the cause of OnConnectionRefused, and in the log for a
	// connection that could not be accepted, when a device has refused several in a
	// row in a way that says that it is not what it was when it was opened: another
	// one was made or removed. It is opened again for the next; connections that there
	// are stay.
	ErrStaleDevice = errors.New("rdma: the device is out of date, and is opened again")

	// ErrSharedOnIWARP is the error of opening with shared receive buffers on an
	// iWARP device, where a message that finds none ends the connection. Give
	// endpoints buffers of their own.
	ErrSharedOnIWARP = errors.New("rdma: receive buffers cannot be shared on iWARP: use ReceiveParams.Buffers without Shared")
)

// MaxPieces is the most pieces of data that Endpoint.Send sends without copying
// them, when those that lie behind each other count as one. More are gathered in
// memory of the backend, beside which the device needs place for a header.
const MaxPieces = 3
