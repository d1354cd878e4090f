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

// Write implements net.Conn.
func (w *wire) Write(p []byte) (int, error) {
	if w.blocking {
		return w.writeNow(p)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.failed == nil {
		w.failed = w.reserve(max(len(p), answerBytes))
	}
	if w.failed == nil && len(p) > len(w.sealed.mem)-w.to {
		w.failed = errNoRoom
	}
	if w.failed != nil {
		return 0, w.failed
	}
	w.to += copy(w.sealed.mem[w.to:], p)
	return len(p), nil
}

// writeNow is Write during the handshake.
func (w *wire) writeNow(p []byte) (int, error) {
	for done := 0; ; {
		w.mu.Lock()
		errno, err := unix.Errno(0), w.cause
		if err == nil {
			var n int
			n, errno = send(w.fd, p[done:])
			done += n
		}
		w.mu.Unlock()
		switch {
		case err != nil:
			return done, err
		case done == len(p):
			return done, nil
		case errno != 0 && errno != unix.EAGAIN:
			return done, errno
		}
		if err := w.Await(); err != nil {
			return done, err
		}
	}
}

// stop makes the handshake fail.
func (w *wire) stop(cause error) {
	w.mu.Lock()
	w.cause = cause
	w.mu.Unlock()
	w.Kick()
}

// shut makes the goroutine of a handshake end, and takes the descriptor away from it.
func (w *wire) shut(cause error) {
	w.mu.Lock()
	w.cause, w.fd = cause, -1
	if w.sealed != nil {
		w.memory.put(w.sealed)
		w.sealed, w.from, w.to = nil, 0, 0
	}
	w.mu.Unlock()
	w.Kick()
}

// prepare makes room for n bytes that are to be sealed. Errors: errPending; the system's
// (no memory).
func (w *wire) prepare(n int) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.to > w.from {
		return errPending
	}
	return w.reserve(min(n+(n/recordBytes+8)*recordOverhead, sealedBytes))
}

// reserve is prepare with mu held, for n bytes of a record.
func (w *wire) reserve(n int) error {
	if w.sealed != nil && (len(w.sealed.mem) >= n || w.to > w.from) {
		return nil
	}
	if w.sealed != nil {
		w.memory.put(w.sealed)
		w.sealed = nil
	}
	var err error
	w.sealed, err = w.memory.get(n)
	w.from, w.to = 0, 0
	return err
}

// answered reports whether crypto/tls has written beside what was to be sealed.
func (w *wire) answered() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.to > w.from || w.failed != nil
}

// pending reports whether sealed bytes wait to be sent.
func (w *wire) pending() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.to > w.from
}

// push hands the sealed bytes to the system. It returns how many the system has taken,
// and whether that is all; then the memory is free.
func (w *wire) push(fd int) (n int, all bool, errno unix.Errno) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.to > w.from {
		n, errno = send(fd, w.sealed.mem[w.from:w.to])
		if w.from += n; w.from < w.to {
			return n, false, errno
		}
	}
	w.rest()
	return n, true, 0
}

// rest gives the memory back. mu is held, and nothing waits to be sent.
func (w *wire) rest() {
	if w.sealed != nil {
		w.memory.put(w.sealed)
		w.sealed, w.from, w.to = nil, 0, 0
	}
}

// failure returns the error of a write, or nil. It comes before what crypto/tls says: a
// KeyUpdate that it cannot answer makes it forget the new key of the peer, and call the
// next record damaged.
func (w *wire) failure() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.failed
}

// send writes p, of at least one byte, to a socket.
func send(fd int, p []byte) (int, unix.Errno) {
	v := vector(p)
	var m unix.Msghdr
	m.Iov = &v
	m.SetIovlen(1)
	return sendMessage(fd, &m)
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
