// SPDX-License-Identifier: Apache-2.0

//go:build linux

package shm

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"math"
	"net/netip"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"tagbus/netio"
	"tagbus/netio/internal/mutual"
)

// With TLS, connections go this way; the handler does not know them before the end:
//
//	accepted ──► its first bytes ──► handshake, bonds ──► greetings ──► established
//	dialled ─────────────────────────────┘
//
// The handshake is computed by a goroutine, as those of the backend tls are (package mutual). Behind
// it each side says what it is (bond.go), still encrypted. From there on the socket and the memory
// are as without TLS. Neither side sends the first byte in the clear before it has read the last one
// that is encrypted, because crypto/tls reads ahead, and would lose the files that come with a greeting.

// secure is what an endpoint has for TLS. The goroutine of the handshake has it from Desk.Enter to
// toSecured, and the loop before and after that.
type secure struct {
	endpoint *endpoint
	socket   socket
	dialled  bool
	work     mutual.Work
	visitor  mutual.Visitor
	region   fileID // that is lent; zero: none
	uid      uint32 // of this process, when it began to listen or to connect

	// Only in a step.
	shaking bool // the handshake is the desk's
	done    bool

	// Of the goroutine, then of the loop.
	err    error
	peers  []*x509.Certificate
	theirs bond

	mu      sync.Mutex
	segment segment // made by the goroutine, taken by the loop
	closed  bool    // no one takes it any more
}

// segment is one that no endpoint has yet.
type segment struct {
	fd  int // of mem
	mem []byte
}

// newSecure prepares TLS for an endpoint that is connected.
func newSecure(e *endpoint, dialled bool, uid uint32, lent *lentFile) (*secure, error) {
	s := &secure{endpoint: e, dialled: dialled, uid: uid}
	if lent.region != nil {
		var err error
		if s.region, err = idOf(lent.fd); err != nil {
			return nil, err
		}
	}
	// Users take turns, as networks do elsewhere.
	u := e.credentials.Uid
	user := netip.AddrFrom4([4]byte{byte(u >> 24), byte(u >> 16), byte(u >> 8), byte(u)})
	s.visitor = mutual.Visitor{Remote: user, Begin: s.start, Stop: s.socket.stop}
	s.socket.fd = e.fd
	if s.socket.room = mutual.HandshakeBytes; dialled {
		s.socket.room = math.MaxInt
	}
	s.work = mutual.Work{Ration: e.backend.ration, Free: dialled}
	s.socket.Open()
	s.socket.Work = &s.work
	s.socket.Yield = func() { s.desk().Park(&s.visitor) }
	return s, nil
}

// desk returns the one for handshakes of its kind.
func (s *secure) desk() *mutual.Desk {
	if s.dialled {
		return &s.endpoint.backend.dials
	}
	return &s.endpoint.backend.accepts
}

// start starts the goroutine of the handshake.
func (s *secure) start() {
	s.endpoint.backend.handshakes.Add(1)
	go s.shake()
}

// shake is the goroutine of the handshake.
func (s *secure) shake() {
	b := s.endpoint.backend
	defer b.handshakes.Done()
	s.desk().Compute(&s.visitor, &s.work,
		func() error {
			s.socket.Deadline = time.Now().Add(b.config.TLS.HandshakeTimeout)
			return s.handshake(b.config.TLS)
		},
		func(with any, stack string) {
			b.config.Logger.Error("shm: a callback of the TLS configuration panicked", "panic", with, "stack", stack)
		},
		func(err error) {
			if s.err = err; err != nil {
				s.err = &tlsError{err}
			}
			s.endpoint.Schedule(toSecured)
		})
}

// handshake is done when both sides have let each other in.
func (s *secure) handshake(t *TLS) error {
	side := mutual.Side{Dialled: s.dialled, NoTLS: ErrPeerSpeaksPlain, NoOurs: ErrNoProtocol, Protocol: TLSProtocol}
	var conn *tls.Conn
	if s.dialled {
		cfg, err := t.mutual().ForClient(s.endpoint.Remote().Addr().Unmap().WithZone("").String())
		if err != nil {
			return err
		}
		conn = tls.Client(&s.socket, cfg)
	} else {
		cfg, err := t.mutual().ForServer()
		if err != nil {
			return err
		}
		conn = tls.Server(&s.socket, cfg)
	}
	if err := conn.Handshake(); err != nil {
		return side.Explain(err)
	}
	var err error
	if s.peers, err = side.Judge(conn); err != nil {
		_ = conn.CloseWrite() // the peer may be gone
		return err
	}
	if s.dialled {
		return s.bindDialled(conn, side)
	}
	return s.bindAccepted(conn)
}

// bindDialled says and hears the bonds of a connection that was dialled.
func (s *secure) bindDialled(conn *tls.Conn, side mutual.Side) error {
	own, err := s.bond()
	if err != nil {
		return err
	}
	_, failed := conn.Write(own.encoded())
	if err := s.hear(conn); err != nil { // a peer that does not take the certificate has said so, and closed
		return side.ExplainRefusal(err)
	}
	if failed != nil {
		return side.ExplainRefusal(failed)
	}
	if _, err := own.judge(&s.theirs, s.endpoint.credentials); err != nil {
		return err
	}
	return s.theirs.refusal(own)
}

// bindAccepted hears and says the bonds of a connection that was accepted. The memory of this side is
// made for a peer that has proved its name, not for strangers.
func (s *secure) bindAccepted(conn *tls.Conn) error {
	if err := s.hear(conn); err != nil {
		return err
	}
	own, err := s.bond()
	if err != nil {
		return err
	}
	finds, err := own.judge(&s.theirs, s.endpoint.credentials)
	own.finds = finds
	if _, failed := conn.Write(own.encoded()); err == nil {
		err = failed
	}
	return err
}

// hear reads the bond of the other side.
func (s *secure) hear(conn *tls.Conn) error {
	var text [bondBytes]byte
	if _, err := io.ReadFull(conn, text[:]); err != nil {
		return err
	}
	var err error
	s.theirs, err = parseBond(text[:])
	return err
}

// bond makes the segment of this side, and returns what it says of itself.
//
// Errors: netio.ErrNoMemory, and others of the system; netio.ErrClosed.
func (s *secure) bond() (*bond, error) {
	fd, mem, err := newSegment(s.endpoint.backend.config.shape())
	if err != nil {
		return nil, err
	}
	made := segment{fd, mem}
	id, err := idOf(fd)
	s.mu.Lock()
	defer s.mu.Unlock()
	if err == nil && s.closed {
		err = netio.ErrClosed
	}
	if err != nil {
		made.free()
		return nil, err
	}
	s.segment = made
	own := &bond{uid: s.uid, space: userSpace(), segment: id, region: s.region}
	if claim := s.endpoint.backend.config.claim; claim != nil {
		claim(own)
	}
	return own, nil
}

// take returns the segment to the loop, which owns it from here on.
func (s *secure) take() segment {
	s.mu.Lock()
	defer s.mu.Unlock()
	made := s.segment
	s.segment = segment{}
	return made
}

// shut makes the goroutine of the handshake end, and takes the descriptor away from it.
func (s *secure) shut() {
	s.desk().Forget(&s.visitor)
	s.socket.shut(netio.ErrClosed)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	s.segment.free()
}

// free gives back the memory, if there is some.
func (s *segment) free() {
	if s.mem != nil {
		_ = unix.Close(s.fd)
		unmap(&s.mem)
	}
}

// PeerCertificates implements netio.Authenticated.
func (e *endpoint) PeerCertificates() []*x509.Certificate {
	if e.secure == nil {
		return nil
	}
	return e.secure.peers
}

var _ netio.Authenticated = (*endpoint)(nil)

// tlsError is the error of a handshake of TLS.
type tlsError struct{ err error }

func (e *tlsError) Error() string { return fmt.Sprintf("shm: the TLS handshake failed: %v", e.err) }

// Unwrap returns the reason.
func (e *tlsError) Unwrap() error { return e.err }

// Is reports whether target is ErrHandshake, or that of any backend with TLS.
func (*tlsError) Is(target error) bool {
	return target == ErrHandshake || target == mutual.ErrHandshake
}
