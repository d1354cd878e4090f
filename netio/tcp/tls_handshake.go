// SPDX-License-Identifier: Apache-2.0

package tcp

import (
	"crypto/tls"
	"fmt"
	"io"
	"time"

	"tagbus/netio"
	"tagbus/netio/internal/mutual"
)

// shake is the goroutine of the handshake.
func (s *secure) shake() {
	b := s.endpoint.backend
	defer b.handshakes.Done()
	s.desk().Compute(&s.visitor, &s.work,
		func() error {
			s.wire.Deadline = time.Now().Add(b.config.TLS.HandshakeTimeout)
			return s.handshake(b.config.TLS)
		},
		func(with any, stack string) {
			b.config.Logger.Error("tcp: a callback of the TLS configuration panicked", "panic", with, "stack", stack)
		},
		func(err error) {
			s.wire.blocking, s.opened = false, s.wire.records.plain // what was read ahead is free
			if s.err = err; err != nil {
				s.err = fmt.Errorf("%w: %w", ErrHandshake, err)
			}
			s.endpoint.Schedule(toSecured)
		})
}

// handshake is done when both sides have let each other in.
func (s *secure) handshake(t *TLS) error {
	var cfg *tls.Config
	var err error
	if s.dialled {
		if cfg, err = t.mutual().ForClient(s.endpoint.Remote().Addr().Unmap().WithZone("").String()); err == nil {
			s.conn = tls.Client(&s.wire, cfg)
		}
	} else if cfg, err = t.mutual().ForServer(); err == nil {
		s.conn = tls.Server(&s.wire, cfg)
	}
	if err != nil {
		return err
	}
	if err := s.conn.Handshake(); err != nil {
		return s.side().Explain(err)
	}
	if s.peers, err = s.side().Judge(s.conn); err != nil {
		_ = s.conn.CloseWrite() // the peer may be gone
		return err
	}
	if !s.dialled {
		_, err := s.conn.Write(accepted[:])
		return err
	}
	var first [len(accepted)]byte
	if _, err := io.ReadFull(s.conn, first[:]); err != nil {
		return s.side().ExplainRefusal(err)
	}
	if first != accepted {
		return fmt.Errorf("%w: it begins with %x, want %x", ErrNoProtocol, first, accepted)
	}
	return nil
}

// What a peer does instead of a handshake.
var (
	errSilent = fmt.Errorf("%w: the peer has closed the connection and sent next to nothing", io.EOF)
	errMute   = fmt.Errorf("%w: the peer has sent nothing", netio.ErrTimeout)
)

// side returns which end of the handshake this is.
func (s *secure) side() mutual.Side {
	return mutual.Side{Dialled: s.dialled, NoTLS: ErrPeerSpeaksPlain, NoOurs: ErrNoProtocol, Protocol: TLSProtocol}
}
