// SPDX-License-Identifier: Apache-2.0

package tcp

import (
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"tagbus/netio/internal/mutual"
)

const (
	recordBytes    = 16 << 10 // the most of a record of TLS, without what follows
	recordOverhead = 5 + 1 + 16

	// sealBytes is how much is sealed before the system is asked to take it, and
	// sealedBytes the memory for that, with room for alerts and answers of crypto/tls.
	sealBytes   = 64 << 10
	sealedBytes = 64<<10 + slack

	// answerBytes is room for the answers of crypto/tls to all that is opened before they
	// are sent.
	answerBytes = 4 << 10
)

// wire is the net.Conn below a tls.Conn. It is used in two ways, one after the other.
//
// During the handshake it blocks: the goroutine of the handshake makes the calls of the
// system, and waits for kick where there is nothing to read, or no room. From then on
// the loop owns the tls.Conn: Read never waits and returns errNothing, after which it may
// be called again; Write puts sealed bytes into memory that push hands to the system, and
// never fails in the middle of a record.
//
// Threads: Read by the goroutine of the handshake, later by the loop; cut, kick and shut
// by any; the others by the goroutine that seals, which the mutexes of tls.Conn and of the queue put
// in order.
type wire struct {
	mutual.Waiter // of the goroutine of the handshake

	memory   *memory
	blocking bool // changed by the goroutine of the handshake, at its end
	room     int  // what the handshake may read yet

	// Only on the loop.
	edges bool // what comes behind a short read makes a new edge
	dry   bool // the last read was short
	left  int  // what may still be read, in bytes and openCharge for each record
	lap   int  // and how many records may begin

	records recordCounter // of the reader

	mu       sync.Mutex
	fd       int // -1: closed
	cause    error
	sealed   *block // nil: there is nothing to send
	from, to int    // of it what is to be sent
	failed   error  // of a write: crypto/tls may be out of step with the peer
}

// nothing is the error of a read that finds no bytes. crypto/tls does not remember an
// error that is temporary, and goes on where it was.
type nothing struct{}

func (nothing) Error() string   { return "tcp: nothing to read yet" }
func (nothing) Timeout() bool   { return true }
func (nothing) Temporary() bool { return true }

var errNothing net.Error = nothing{}

// What else Read returns.
var (
	errPending = errors.New("tcp: sealed bytes are not sent yet")
	errNoRoom  = errors.New("the peer asks for more answers of TLS than it reads")
	errIdle    = fmt.Errorf("%w: the peer updates its key, or pads its records, again and again", ErrIdleRecords)
)

// Read implements net.Conn.
func (w *wire) Read(p []byte) (int, error) {
	if !w.blocking {
		return w.readNow(p)
	}
	for {
		w.mu.Lock()
		n, err := 0, w.cause
		if err == nil && w.room == 0 {
			err = mutual.ErrLongHandshake
		}
		if err == nil {
			n, err = w.read(p[:min(len(p), w.room)])
			w.room -= n
			w.records.pass(p[:n])
		}
		w.mu.Unlock()
		if err != errNothing { //nolint:errorlint // bare, and this is the data path
			return n, err
		}
		if err := w.Await(); err != nil {
			return 0, err
		}
	}
}

// readNow is Read behind the handshake. One Read of crypto/tls opens any number of records
// that have no data, so it is the wire that ends it, when left or lap is used up.
func (w *wire) readNow(p []byte) (int, error) {
	if w.dry || w.stopped() {
		return 0, errNothing
	}
	p = p[:min(len(p), w.records.left()+readAhead)]
	n, err := w.read(p)
	w.dry = w.edges && n < len(p)
	begun := w.records.pass(p[:n])
	w.left -= n + begun*openCharge
	w.lap -= begun
	return n, err
}

// stopped reports whether there may be more to read than was read.
func (w *wire) stopped() bool { return w.left <= 0 || w.lap <= 0 }

func (w *wire) read(p []byte) (int, error) {
	switch n, errno := read(w.fd, p); {
	case errno == unix.EAGAIN:
		return 0, errNothing
	case errno != 0:
		return 0, errno
	case n == 0:
		return 0, mutual.ErrCut
	default:
		return n, nil
	}
}

// Close implements net.Conn; the endpoint closes the socket.
func (w *wire) Close() error { return nil }

// LocalAddr implements net.Conn; nothing asks.
func (w *wire) LocalAddr() net.Addr { return &net.TCPAddr{} }

// RemoteAddr implements net.Conn; nothing asks.
func (w *wire) RemoteAddr() net.Addr { return &net.TCPAddr{} }

// SetDeadline implements net.Conn; the wire has one deadline of its own.
func (w *wire) SetDeadline(time.Time) error { return nil }

// SetReadDeadline implements net.Conn.
func (w *wire) SetReadDeadline(time.Time) error { return nil }

// SetWriteDeadline implements net.Conn.
func (w *wire) SetWriteDeadline(time.Time) error { return nil }

var _ io.ReadWriteCloser = (*wire)(nil)
