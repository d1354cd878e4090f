// SPDX-License-Identifier: Apache-2.0

//go:build linux

package shm

import "errors"

var (
	// ErrCallbackPanicked is the cause, in a *netio.OpError, with which an endpoint
	// closes when a callback of its Handler panicked. The event loop reports the
	// panic itself.
	ErrCallbackPanicked = errors.New("shm: a callback of the handler panicked")

	// ErrProtocol is wrapped, in a *netio.OpError, by the cause with which an endpoint
	// closes whose peer has broken the rules of the shared memory: a position that goes
	// back, a descriptor that names memory outside of what is shared. The peer is broken
	// or hostile.
	ErrProtocol = errors.New("shm: the peer breaks the protocol")

	// ErrHandshake is wrapped by the cause of a refusal when the other side has not
	// introduced itself as this protocol demands, in its memory too: of another
	// version, of another host, with memory that it could take back.
	ErrHandshake = errors.New("shm: the handshake failed")

	// ErrFolder is wrapped in the error of OpenListenEndpoint for a Config.Folder that
	// is no folder, or in which any user of the host could put a socket.
	ErrFolder = errors.New("shm: the folder of the sockets cannot be used")
)
