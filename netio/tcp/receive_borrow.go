// SPDX-License-Identifier: Apache-2.0

package tcp

import (
	"time"

	"golang.org/x/sys/unix"

	"tagbus/netio"
)

// joinReceivePool chooses where the endpoint gets receive buffers, except those of its
// listen endpoint. Errors: the system's (no memory).
func (e *endpoint) joinReceivePool(p *netio.ReceiveParams) (err error) {
	e.borrower.endpoint = e
	if e.borrower.pool = e.backend.receive; e.borrower.pool == nil {
		e.borrower.pool, err = newOwnReceive(e.backend, p)
	}
	return err
}

// leaveReceivePool gives up the window, with what is in it, and its memory.
func (e *endpoint) leaveReceivePool() {
	e.receiver.release()
	if e.borrower.pool != nil {
		e.borrower.pool.forget(&e.borrower)
	}
}

// borrow sees that the receiver has a buffer. It returns false if the endpoint
// has to wait for one, or need not because there is nothing to be read.
func (e *endpoint) borrow() bool {
	b := &e.borrower
	if b.buffer != nil {
		return true
	}
	if !b.waits {
		if b.pool.take(b) {
			e.receiver.lend(b.memory())
			return true
		}
		// No buffer is needed to see the end, or that there is nothing.
		switch n, errno := e.peek(); {
		case errno == unix.EAGAIN:
		case errno != 0:
			e.endReceive(errno)
			return false
		case n == 0 && e.secure != nil:
			e.endCut()
			return false
		case n == 0:
			e.endOfStream()
			return false
		default:
			b.pool.wait(b)
		}
	}
	if e.sendErr != nil { // nothing will come to say that it is over
		e.breakWaiting()
	}
	return false
}

// breakWaiting notes that the connection of an endpoint without a buffer has
// failed. What the peer has sent before comes first, if a buffer does in time.
func (e *endpoint) breakWaiting() {
	b := &e.borrower
	if !b.waits || b.pool.timeout < 0 {
		e.endReceive(socketError(e.fd))
	} else if b.broken.IsZero() {
		b.broken = time.Now()
	}
}

// failWaiting ends it when no buffer has come.
func (e *endpoint) failWaiting() {
	e.Fail(socketError(e.fd))
	if e.learnFailure(); e.sendErr != nil {
		e.Fault = e.sendErr
	}
}

// settle ends a step in which the receiver had a buffer.
func (e *endpoint) settle() {
	if e.receiver.buffered() == 0 {
		e.receiver.release()
		e.borrower.pool.giveBack(&e.borrower)
		return
	}
	e.borrower.received(e.receiver.total)
}

// stalled ends an endpoint that keeps others waiting because its peer has
// stopped in the middle of a message; not if it only had no turn, or its user
// has paused it, or did until just now: then a whole message may be left.
func (e *endpoint) stalled() {
	if e.Hold() != 0 || e.receiver.buffered() == 0 || e.receiver.more() {
		return
	}
	if _, errno := e.peek(); errno == unix.EAGAIN {
		e.backend.Counters.Truncated.Add(1)
		e.Fail(netio.ErrTimeout)
	}
}
