// SPDX-License-Identifier: Apache-2.0

package tcp

import (
	"errors"

	"tagbus/netio/internal/mutual"
)

// ErrCallbackPanicked is the cause, in a *netio.OpError, with which an endpoint
// closes when a callback of its Handler panicked. The event loop reports the
// panic itself.
var ErrCallbackPanicked = errors.New("tcp: a callback of the handler panicked")

// What ends connections with TLS, in a *netio.OpError.
var (
	// ErrHandshake is wrapped by every error of a handshake, beside its reason: an
	// error of crypto/tls or crypto/x509, of a callback, netio.ErrTimeout, or one of
	// those below.
	ErrHandshake = mutual.ErrHandshake

	// ErrCertificateRefused: the peer has refused the certificate of this side. The
	// alert that follows in the text says why, as far as TLS does; the log of the peer
	// says more.
	ErrCertificateRefused = mutual.ErrCertificateRefused

	// ErrNoProtocol: the peer speaks TLS, but does not offer or choose TLSProtocol.
	ErrNoProtocol = errors.New("the peer does not speak " + TLSProtocol)

	// ErrPeerSpeaksPlain: the peer uses no TLS, and this side does.
	ErrPeerSpeaksPlain = errors.New(`the peer speaks plain tcp: use the same backend, "tls", at both ends`)

	// ErrPeerSpeaksTLS: the peer uses TLS, and this side does not.
	ErrPeerSpeaksTLS = errors.New(`tcp: the peer speaks TLS: use the same backend, "tls", at both ends`)

	// ErrKeyLimit: the endpoint has sent TLS.MaxRecords. Open the connection again.
	ErrKeyLimit = errors.New("tcp: the TLS key of the connection is used up: connect again")

	// ErrIdleRecords: the records of the peer have more besides data than any program
	// needs, such as KeyUpdates. It is broken or hostile.
	ErrIdleRecords = errors.New("tcp: too much in records of TLS that is not data")

	// ErrLongHandshake: the peer has sent more during its handshake than any chain of certificates
	// needs. It is broken or hostile.
	ErrLongHandshake = mutual.ErrLongHandshake

	// ErrTLS is wrapped by the errors of crypto/tls behind the handshake, such as a
	// record that was changed on its way.
	ErrTLS = errors.New("tcp: TLS failed")
)
