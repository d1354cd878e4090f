// SPDX-License-Identifier: Apache-2.0

//go:build linux

package mutual

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"reflect"

	"golang.org/x/sys/unix"

	"tagbus/netio"
)

// What ends handshakes. The errors of backends wrap them.
var (
	// ErrHandshake is that of the backend tls, which those of others match.
	ErrHandshake = errors.New("tcp: the TLS handshake failed")

	// ErrCertificateRefused: the peer has refused the certificate of this side. The
	// alert that follows in the text says why, as far as TLS does; the log of the peer
	// says more.
	ErrCertificateRefused = errors.New("the peer has refused the certificate of this side")

	// ErrLongHandshake: the peer has sent more during its handshake than any chain of certificates
	// needs. It is broken or hostile.
	ErrLongHandshake = errors.New("the peer has sent more than 64 KiB in its handshake")

	// ErrCut is not io.EOF, which crypto/tls returns for an end in order.
	ErrCut = fmt.Errorf("%w: the connection has ended without a close_notify of TLS", netio.ErrTruncated)

	// ErrGone is that of a peer that has closed the connection in its handshake.
	ErrGone = fmt.Errorf("%w: the peer has closed the connection; its log says why", io.ErrUnexpectedEOF)
)

// Side is one end of a handshake.
type Side struct {
	Dialled  bool
	NoTLS    error // the peer uses no TLS
	NoOurs   error // the peer speaks TLS, but does not offer or choose the protocol
	Protocol string
}

// Judge looks at what crypto/tls leaves open, and returns the certificates by which the peer is let in.
//
// Errors: NoOurs, wrapped.
func (s Side) Judge(c *tls.Conn) ([]*x509.Certificate, error) {
	state := c.ConnectionState()
	switch {
	case state.NegotiatedProtocol != s.Protocol:
		return nil, fmt.Errorf("%w: it has not asked for this protocol (ALPN)", s.NoOurs)
	case state.Version != tls.VersionTLS13 || len(state.PeerCertificates) == 0 || state.DidResume:
		return nil, fmt.Errorf("%w: it has version %x and %d certificates, want TLS 1.3 and at least one", s.NoOurs, state.Version, len(state.PeerCertificates))
	}
	if len(state.VerifiedChains) > 0 {
		return state.VerifiedChains[0], nil
	}
	return state.PeerCertificates, nil
}

// Alerts of TLS that have a meaning of their own here.
const (
	alertNone            = -1
	alertProtocolVersion = 70
	alertNoProtocol      = 120
)

// PlainAlert is what a plain listener answers to TLS: the alert protocol_version, fatal.
var PlainAlert = []byte{21, 3, 1, 0, 2, 2, alertProtocolVersion}

// IsHello reports whether a stream that begins with p, of up to 3 bytes, may begin with
// a ClientHello of TLS.
func IsHello(p []byte) bool {
	return len(p) > 0 && p[0] == 22 && (len(p) < 2 || p[1] == 3) && (len(p) < 3 || p[2] >= 1 && p[2] <= 4)
}

// alertOf returns the alert of the peer in an error, or alertNone. Its type is not
// exported by crypto/tls; its text is "remote error: tls: …".
func alertOf(err error) int {
	var remote *net.OpError
	if !errors.As(err, &remote) || remote.Op != "remote error" {
		return alertNone
	}
	if v := reflect.ValueOf(remote.Err); v.CanUint() {
		return int(v.Uint())
	}
	return alertNone
}

// Explain adds what people need to an error of the handshake.
func (s Side) Explain(err error) error {
	var header tls.RecordHeaderError
	switch alert := alertOf(err); {
	case hasGone(err):
		return ErrGone
	case errors.As(err, &header):
		return fmt.Errorf("%w: %w", s.NoTLS, err)
	case s.Dialled && alert == alertProtocolVersion:
		return fmt.Errorf("%w: %w", err, s.NoTLS)
	case alert == alertNoProtocol:
		return fmt.Errorf("%w: %w", s.NoOurs, err)
	}
	return err
}

// hasGone reports whether the peer has closed the connection: also one that had not read
// all that this side has sent, of which the system makes a reset.
func hasGone(err error) bool {
	return errors.Is(err, ErrCut) || errors.Is(err, unix.ECONNRESET) || errors.Is(err, unix.EPIPE)
}

// ExplainRefusal explains why the peer has not let this side in.
func (s Side) ExplainRefusal(err error) error {
	switch alert := alertOf(err); {
	case hasGone(err):
		return ErrGone
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return fmt.Errorf("%w: it has closed the connection behind the handshake", s.NoOurs)
	case alert == alertNone:
		return err
	}
	return fmt.Errorf("%w: %w", ErrCertificateRefused, err)
}
