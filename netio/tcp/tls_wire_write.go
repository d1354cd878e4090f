// SPDX-License-Identifier: Apache-2.0

package tcp

import "golang.org/x/sys/unix"

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
