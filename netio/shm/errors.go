// SPDX-License-Identifier: Apache-2.0

//go:build linux

package shm

import (
	"errors"

	"tagbus/netio/internal/mutual"
)

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

	// ErrCertificateRefused is wrapped beside ErrHandshake: the peer has refused the certificate of
	// this side.
	ErrCertificateRefused = mutual.ErrCertificateRefused

	// ErrPeerSpeaksPlain is wrapped beside ErrHandshake: the peer has no certificates, and this side asks
	// for them.
	ErrPeerSpeaksPlain = errors.New("the peer shows no certificate, and this side asks for one: give both programs certificates, or neither")

	// ErrPeerSpeaksTLS is wrapped beside ErrHandshake: the peer asks for certificates, and this side has none.
	ErrPeerSpeaksTLS = errors.New("the peer asks for a certificate, and this side has none: give both programs certificates, or neither")

	// ErrNoProtocol is wrapped beside ErrHandshake: the peer speaks TLS, but does not offer or choose
	// TLSProtocol.
	ErrNoProtocol = errors.New("the peer does not speak " + TLSProtocol)

	// ErrOtherProcess is wrapped beside ErrHandshake: the process at the other end of the socket is not the
	// one that has shown the certificate. One of another user stands between, and passes on what it gets.
	ErrOtherProcess = errors.New("another process stands between this one and the owner of the certificate: look at who may write in the folder of the sockets")

	// ErrUserNamespace is wrapped beside ErrHandshake: the two processes are in different user namespaces, and
	// what the system says of the user at the other end of the socket means nothing.
	ErrUserNamespace = errors.New("the peer is in another user namespace, or one is not known (/proc), and users cannot be compared")

	// ErrFolder is wrapped in the error of OpenListenEndpoint for a Config.Folder that
	// is no folder, or in which any user of the host could put a socket.
	ErrFolder = errors.New("shm: the folder of the sockets cannot be used")
)
