// SPDX-License-Identifier: Apache-2.0

package tcp

import (
	"fmt"
	"sync"

	"golang.org/x/sys/unix"

	"tagbus/netio"
)

// stage is where pieces of a record are put together.
type stage [recordBytes]byte

// stages are shared by all endpoints: there are as many as seal at the same time.
var stages = sync.Pool{New: func() any { return new(stage) }}

// directSealBytes is the largest frame that a sender seals by itself.
const directSealBytes = 64 << 10

// flushSealed is flush for TLS. What is in the queue is sealed only when the system has
// taken all that was sealed before, and is completed when the system has taken it: so a
// completion means the same as without TLS, and an endpoint has at most sealBytes twice.
func (e *endpoint) flushSealed() {
	q, b, s := &e.queue, e.backend, e.secure
	if err := s.wire.failure(); err != nil {
		e.end(e.OpError("send", tlsError(err)))
		return
	}
	for budget := writeBudget; !e.blocked; {
		tail, failed := q.take()
		if failed != 0 {
			e.sendFailed(failed)
			return
		}
		if q.sent == tail {
			e.pushAnswers()
			return
		}
		if s.plain == 0 && !s.wire.pending() {
			if s.usedUp() && q.offset == 0 {
				e.end(e.OpError("send", ErrKeyLimit))
				return
			}
			if err := e.sealNext(tail); err != nil {
				e.sealFailed(err)
				return
			}
		}
		n, all, errno := s.wire.push(e.fd)
		b.moved += n
		if errno != 0 {
			e.sendFailed(errno)
			return
		}
		e.blocked = !all // an edge follows when there is room again
		if all {
			messages, bytes := q.advance(s.plain)
			s.plain = 0
			b.Counters.MessagesSent.Add(uint64(messages))
			b.Counters.BytesSent.Add(uint64(bytes))
		}
		if !e.complete() {
			return
		}
		if budget -= max(n, writeCallBytes); budget <= 0 {
			e.Schedule(toFlush)
			return
		}
	}
}

// pushAnswers sends what crypto/tls has written by itself, for an idle queue. Of what a
// sender seals meanwhile, which is the sender's business, it may send a part.
func (e *endpoint) pushAnswers() {
	n, all, errno := e.secure.wire.push(e.fd)
	e.backend.moved += n
	if errno != 0 {
		e.sendFailed(errno)
		return
	}
	e.blocked = !all
}

// sealNext seals what is next in the queue, which ends at tail.
func (e *endpoint) sealNext(tail uint64) (err error) {
	q, s, to := &e.queue, e.secure, &e.backend.sender
	if s.usedUp() {
		tail = q.sent + 1 // to the end of what the peer has in part
	}
	to.most = sealBytes
	q.gather(to, tail)
	to.most = batchBytes
	defer to.forget()
	defer s.leave()
	s.plain, err = s.seal(to)
	return err
}

// sealFailed ends the endpoint. crypto/tls refuses to seal behind an alert, for instance.
func (e *endpoint) sealFailed(err error) {
	e.learnFailure()
	e.end(e.OpError("send", tlsError(err)))
}

// sealDirect is sendDirect for TLS.
func (q *queue) sealDirect(key netio.Key, size int, header []byte, data [][]byte) (done, accepted, wake bool) {
	s := q.secure
	frame := lengthBytes + size
	if frame > directSealBytes || s.usedUp() || s.wire.prepare(frame) != nil || s.sealFrame(size, header, data) != nil {
		return false, false, false // the loop will see for itself
	}
	_, all, errno := s.wire.push(q.socket)
	if all {
		return true, false, false
	}
	switch errno {
	case 0, unix.EAGAIN, unix.ENOBUFS, unix.ENOMEM:
	default:
		q.failed = errno
	}
	s.plain = frame
	return false, true, q.append(key, size, header, data)
}

// sealFrame seals one message.
func (s *secure) sealFrame(size int, header []byte, data [][]byte) error {
	var head [lengthBytes + netio.MaxHeaderBytes]byte
	s.begin()
	defer s.leave()
	if err := s.add(frameHead(&head, size, header)); err != nil {
		return err
	}
	for _, piece := range data {
		if err := s.add(piece); err != nil {
			return err
		}
	}
	return s.finish()
}

// tlsError returns an error of crypto/tls with ErrTLS.
func tlsError(err error) error { return fmt.Errorf("%w: %w", ErrTLS, err) }
