// SPDX-License-Identifier: Apache-2.0

package tcp

import (
	"container/list"
	"crypto/tls"
	"crypto/x509"
	"io"
	"math"
	"time"
	"unsafe"

	"tagbus/internal/alarm"
	"tagbus/netio"
	"tagbus/netio/internal/mutual"
)

// accepted is what the side that accepts sends first behind the handshake: the length of
// no message. With TLS 1.3 a client has ended its handshake before the server has looked
// at its certificate, so only this says that it was let in.
var accepted [lengthBytes]byte

// secure is what an endpoint has for TLS. The goroutine of the handshake has it from
// Desk.Enter to toSecured, and the loop before and after that.
type secure struct {
	endpoint *endpoint
	conn     *tls.Conn
	wire     wire
	dialled  bool
	err      error // of the handshake
	peers    []*x509.Certificate

	work    mutual.Work
	visitor mutual.Visitor
	unknown *list.Element // of the strangers
	since   time.Time     // then it became one

	// Only in a step.
	silence alarm.Alarm // until the peer's first bytes
	shaking bool        // the handshake is the desk's
	failed  error       // of reading, for good
	opened  uint64      // bytes of data that were opened
	drained bool        // nothing whole is left in conn

	// Of the goroutine that seals: a sender under the mutex of an idle queue, or the loop
	// while the queue is not idle.
	plain   int   // bytes of frames, from the queue's offset on, that lie sealed in wire
	records int64 // sealed
	stage   []byte
}

// newSecure prepares TLS for an endpoint.
func newSecure(e *endpoint, dialled bool) *secure {
	s := &secure{endpoint: e, dialled: dialled}
	s.visitor = mutual.Visitor{Remote: e.Remote().Addr(), Begin: s.start, Stop: s.wire.stop}
	s.wire.memory, s.wire.fd = &e.backend.memory, e.fd
	s.wire.blocking = true
	s.wire.Open()
	if s.wire.room = mutual.HandshakeBytes; dialled {
		s.wire.room = math.MaxInt
	}
	s.wire.Yield = func() { s.desk().Park(&s.visitor) }
	s.work = mutual.Work{Ration: e.backend.siblings.ration, Free: dialled}
	s.wire.Work = &s.work
	return s
}

// start starts the goroutine of the handshake.
func (s *secure) start() {
	s.endpoint.backend.handshakes.Add(1)
	go s.shake()
}

// desk returns the one for handshakes of its kind.
func (s *secure) desk() *mutual.Desk {
	if s.dialled {
		return &s.endpoint.backend.siblings.dials
	}
	return &s.endpoint.backend.siblings.accepts
}

// open reads openBytes or openRecords, whichever is less, and opens the records into room,
// until it is full or there is nothing more.
//
//   - budget: what may be read of the wire, with openCharge for each record.
//   - n: bytes; cost: of the budget.
//   - err: errNothing when all that was read is opened; nil when it may not be. io.EOF is
//     an end in order. An error other than errNothing comes again and again.
func (s *secure) open(room []byte, budget int) (n, cost int, err error) {
	if s.failed != nil {
		return 0, 0, s.failed
	}
	limit := min(budget, openBytes)
	s.wire.left, s.wire.lap = limit, openRecords
	for n < len(room) {
		var m int
		m, err = s.conn.Read(room[n:])
		n += m
		s.opened += uint64(m)
		if err != nil {
			break
		}
	}
	if err = s.judgeRead(err); err != nil && err != errNothing { //nolint:errorlint // bare, and this is the data path
		s.failed = err
	}
	return n, limit - s.wire.left, err
}

// judgeRead returns the error of a Read, or the one that is behind it.
func (s *secure) judgeRead(err error) error {
	if err == nil {
		return nil
	}
	if failed := s.wire.failure(); failed != nil && err != io.EOF { //nolint:errorlint // crypto/tls returns it bare
		return failed
	}
	// When all that was read is opened, what is not data is known to the byte.
	if err == errNothing && s.wire.records.plain > s.opened+s.opened/idleEach+idleBytes { //nolint:errorlint // bare, and this is the data path
		return errIdle
	}
	return err
}

const (
	// openBytes and openRecords are how much is read, with openCharge, before the messages
	// in it are delivered, and the time and what is not data are looked at.
	openBytes   = 64 << 10
	openRecords = 8

	// openCharge is what a record takes of the budget of a turn: a peer may make them
	// as small as it likes.
	openCharge = 512

	// Besides data the records of a peer may have idleBytes, in which 6 KeyUpdates fit, and
	// one byte for each idleEach of data. A KeyUpdate costs as much as many messages, and
	// no implementation in use needs one before 2^24 full records (RFC 8446, section 5.5).
	idleBytes = 32
	idleEach  = 256 << 10
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
	s.records += int64((len(p) + recordBytes - 1) / recordBytes)
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
