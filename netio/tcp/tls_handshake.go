// SPDX-License-Identifier: Apache-2.0

package tcp

import (
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"reflect"
	"runtime/debug"
	"time"

	"golang.org/x/sys/unix"

	"tagbus/netio"
)

// shake is the goroutine of the handshake.
func (s *secure) shake() {
	b := s.endpoint.backend
	defer b.handshakes.Done()
	s.err = errGoexit
	s.work.begin()
	defer func() {
		s.work.end()
		if v := recover(); v != nil {
			b.config.Logger.Error("tcp: a callback of the TLS configuration panicked", "panic", v, "stack", string(debug.Stack()))
			s.err = fmt.Errorf("%w: %w: %v", ErrHandshake, errPanicked, v)
		}
		s.wire.blocking, s.opened = false, s.wire.records.plain // what was read ahead is free
		if s.err == nil {
			s.work.succeed()
		}
		s.desk().leave(s)
		s.endpoint.Schedule(toSecured)
	}()
	s.wire.deadline = time.Now().Add(b.config.TLS.HandshakeTimeout)
	if err := s.handshake(b.config.TLS); err != nil {
		s.err = fmt.Errorf("%w: %w", ErrHandshake, err)
		return
	}
	s.err = nil
}

var (
	errGoexit   = fmt.Errorf("%w: a callback of the TLS configuration has ended its goroutine", ErrHandshake)
	errPanicked = errors.New("a callback of the TLS configuration panicked")
)

// handshake is done when both sides have let each other in.
func (s *secure) handshake(t *TLS) error {
	var cfg *tls.Config
	var err error
	if s.dialled {
		if cfg, err = t.clientConfig(s.endpoint.Remote()); err == nil {
			s.conn = tls.Client(&s.wire, cfg)
		}
	} else if cfg, err = t.serverConfig(); err == nil {
		s.conn = tls.Server(&s.wire, cfg)
	}
	if err != nil {
		return err
	}
	if err := s.conn.Handshake(); err != nil {
		return s.explain(err)
	}
	if err := s.judge(); err != nil {
		_ = s.conn.CloseWrite() // the peer may be gone
		return err
	}
	if !s.dialled {
		_, err := s.conn.Write(accepted[:])
		return err
	}
	var first [len(accepted)]byte
	if _, err := io.ReadFull(s.conn, first[:]); err != nil {
		return s.explainRefusal(err)
	}
	if first != accepted {
		return fmt.Errorf("%w: it begins with %x, want %x", ErrNoProtocol, first, accepted)
	}
	return nil
}

// What a peer does instead of a handshake.
var (
	errGone   = fmt.Errorf("%w: the peer has closed the connection; its log says why", io.ErrUnexpectedEOF)
	errSilent = fmt.Errorf("%w: the peer has closed the connection and sent next to nothing", io.EOF)
	errMute   = fmt.Errorf("%w: the peer has sent nothing", netio.ErrTimeout)
)

// judge looks at what crypto/tls leaves open.
func (s *secure) judge() error {
	state := s.conn.ConnectionState()
	switch {
	case state.NegotiatedProtocol != TLSProtocol:
		return fmt.Errorf("%w: it has not asked for this protocol (ALPN)", ErrNoProtocol)
	case state.Version != tls.VersionTLS13 || len(state.PeerCertificates) == 0 || state.DidResume:
		return fmt.Errorf("%w: it has version %x and %d certificates, want TLS 1.3 and at least one", ErrNoProtocol, state.Version, len(state.PeerCertificates))
	}
	s.peers = state.PeerCertificates
	if len(state.VerifiedChains) > 0 {
		s.peers = state.VerifiedChains[0]
	}
	return nil
}

// Alerts of TLS that have a meaning of their own here.
const (
	alertNone            = -1
	alertProtocolVersion = 70
	alertNoProtocol      = 120
)

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

// explain adds what people need to an error of the handshake.
func (s *secure) explain(err error) error {
	var header tls.RecordHeaderError
	switch alert := alertOf(err); {
	case hasGone(err):
		return errGone
	case errors.As(err, &header):
		return fmt.Errorf("%w: %w", ErrPeerSpeaksPlain, err)
	case s.dialled && alert == alertProtocolVersion:
		return fmt.Errorf("%w: %w", err, ErrPeerSpeaksPlain)
	case alert == alertNoProtocol:
		return fmt.Errorf("%w: %w", ErrNoProtocol, err)
	}
	return err
}

// hasGone reports whether the peer has closed the connection: also one that had not read
// all that this side has sent, of which the system makes a reset.
func hasGone(err error) bool {
	return errors.Is(err, errCut) || errors.Is(err, unix.ECONNRESET) || errors.Is(err, unix.EPIPE)
}

// explainRefusal explains why the peer has not let this side in.
func (s *secure) explainRefusal(err error) error {
	switch alert := alertOf(err); {
	case hasGone(err):
		return errGone
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return fmt.Errorf("%w: it has closed the connection behind the handshake", ErrNoProtocol)
	case alert == alertNone:
		return err
	}
	return fmt.Errorf("%w: %w", ErrCertificateRefused, err)
}
