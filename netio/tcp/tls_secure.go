// SPDX-License-Identifier: Apache-2.0

package tcp

import (
	"container/list"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"reflect"
	"runtime/debug"
	"time"
	"unsafe"

	"tagbus/internal/alarm"
	"tagbus/netio"
)

// accepted is what the side that accepts sends first behind the handshake: the length of
// no message. With TLS 1.3 a client has ended its handshake before the server has looked
// at its certificate, so only this says that it was let in.
var accepted [lengthBytes]byte

// secure is what an endpoint has for TLS. The goroutine of the handshake has it from
// desk.enter to toSecured, and the loop before and after that.
type secure struct {
	endpoint *endpoint
	conn     *tls.Conn
	wire     wire
	dialled  bool
	err      error // of the handshake
	peers    []*x509.Certificate

	place   *list.Element // of the desk: in the line
	unknown *list.Element // of the strangers
	since   time.Time     // then it became one

	// Only in a step.
	silence alarm.Alarm // until the peer's first bytes
	shaking bool        // the handshake is the desk's
	failed  error       // of reading, for good
	drained bool        // nothing whole is left in conn

	// Of the goroutine that seals: the loop, or a sender under the mutex of an idle queue.
	plain   int // bytes of frames, from the queue's offset on, that lie sealed in wire
	records int // sealed
	stage   []byte
}

// newSecure prepares TLS for an endpoint.
func newSecure(e *endpoint, dialled bool) *secure {
	s := &secure{endpoint: e, dialled: dialled}
	s.wire.memory, s.wire.fd = &e.backend.memory, e.fd
	s.wire.blocking, s.wire.kicks = true, make(chan struct{}, 1)
	s.wire.yield = s.desk().crowded
	return s
}

// desk returns the one for handshakes of its kind.
func (s *secure) desk() *desk {
	if s.dialled {
		return &s.endpoint.backend.group.dials
	}
	return &s.endpoint.backend.group.accepts
}

// shake is the goroutine of the handshake.
func (s *secure) shake() {
	b := s.endpoint.backend
	defer b.handshakes.Done()
	s.err = errGoexit
	defer func() {
		if v := recover(); v != nil {
			b.config.Logger.Error("tcp: a callback of the TLS configuration panicked", "panic", v, "stack", string(debug.Stack()))
			s.err = fmt.Errorf("%w: %w: %v", ErrHandshake, errPanicked, v)
		}
		s.wire.blocking = false
		s.desk().leave()
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
	case errors.Is(err, errCut):
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

// explainRefusal explains why the peer has not let this side in.
func (s *secure) explainRefusal(err error) error {
	switch alert := alertOf(err); {
	case errors.Is(err, errCut):
		return errGone
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return fmt.Errorf("%w: it has closed the connection behind the handshake", ErrNoProtocol)
	case alert == alertNone:
		return err
	}
	return fmt.Errorf("%w: %w", ErrCertificateRefused, err)
}

// open reads and opens records into room, until it is full or there is nothing more.
//
//   - n: bytes; records: of which there may be some without any.
//   - err: errNothing when there is nothing more; nil when there may be. io.EOF is an end
//     in order. An error other than errNothing comes again and again.
func (s *secure) open(room []byte) (n, records int, err error) {
	if s.failed != nil {
		return 0, 0, s.failed
	}
	for n < len(room) && records < openRecords {
		m, err := s.conn.Read(room[n:])
		n += m
		records++
		if err == errNothing { //nolint:errorlint // bare, and this is the data path
			return n, records, err
		}
		if err != nil {
			s.failed = err
			return n, records, err
		}
	}
	return n, records, nil
}

const (
	// openRecords is how many records are opened before the messages in them are
	// delivered, and the time is looked at.
	openRecords = 64

	// openCharge is what a record takes of the budget of a turn: a peer may make them
	// as small as it likes.
	openCharge = 512
)

// seal seals up to sealBytes of what to has gathered, in records that are as full as they
// can be, and forgets it. It returns how many bytes.
func (s *secure) seal(to *sender) (n int, err error) {
	most := min(to.bytes, sealBytes)
	if err := s.wire.prepare(most); err != nil {
		return 0, err
	}
	s.begin()
	for _, v := range to.vectors {
		piece := unsafe.Slice(v.Base, v.Len)
		piece = piece[:min(len(piece), most-n)]
		if err := s.add(piece); err != nil {
			return 0, err
		}
		n += len(piece)
	}
	to.forget()
	return n, s.finish()
}

// begin prepares to add pieces.
func (s *secure) begin() { s.stage = stages.Get().(*stage)[:0] }

// add seals the next piece, or keeps it until a record is full.
func (s *secure) add(piece []byte) error {
	for len(piece) > 0 {
		if len(s.stage) == 0 && len(piece) >= recordBytes {
			full := len(piece) / recordBytes * recordBytes
			if err := s.write(piece[:full]); err != nil {
				return err
			}
			piece = piece[full:]
			continue
		}
		n := min(len(piece), recordBytes-len(s.stage))
		s.stage = append(s.stage, piece[:n]...)
		piece = piece[n:]
		if len(s.stage) == recordBytes {
			if err := s.write(s.stage); err != nil {
				return err
			}
			s.stage = s.stage[:0]
		}
	}
	return nil
}

// finish seals what is left.
func (s *secure) finish() error {
	var err error
	if len(s.stage) > 0 {
		err = s.write(s.stage)
	}
	s.leave()
	return err
}

// leave gives the stage back.
func (s *secure) leave() {
	if s.stage != nil {
		stages.Put((*stage)(s.stage[:recordBytes]))
		s.stage = nil
	}
}

func (s *secure) write(p []byte) error {
	s.records += (len(p) + recordBytes - 1) / recordBytes
	_, err := s.conn.Write(p)
	return err
}

// usedUp reports whether no more may be sealed.
func (s *secure) usedUp() bool { return s.records >= s.endpoint.backend.config.TLS.MaxRecords }

// PeerCertificates implements netio.Authenticated.
func (e *endpoint) PeerCertificates() []*x509.Certificate {
	if e.secure == nil {
		return nil
	}
	return e.secure.peers
}

var _ netio.Authenticated = (*endpoint)(nil)
