// SPDX-License-Identifier: Apache-2.0

package tcp

import (
	"encoding/binary"
	"unsafe"

	"golang.org/x/sys/unix"

	"tagbus/netio"
	"tagbus/netio/internal/handover"
)

// A sender may make the system call by itself, under the mutex of the queue, when all
// that was accepted before is completed. Then the loop has nothing of this endpoint in
// its hands, and cannot get anything without the mutex. What the system does not take
// becomes the first entry of the queue, and the loop goes on with it as with any other:
// it finds by a call of its own that there is no room, and waits for that.
//
// An error of the system is for the loop too. The system tells some errors only once,
// and the end of the stream from then on, so the sender leaves it what it was told.

// directPieces is the most pieces of data, empty ones too, of a message that a sender
// hands over by itself.
const directPieces = 20

// SendDirect implements netio.Endpoint. A message of more than directPieces pieces goes
// the way of Send.
func (e *endpoint) SendDirect(key netio.Key, header []byte, data ...[]byte) (bool, error) {
	e.backend.CheckThread("Endpoint.SendDirect")
	size, err := handover.MessageBytes(header, data)
	if err != nil {
		return false, err
	}
	if len(data) <= directPieces {
		done, accepted, wake := e.queue.sendDirect(key, size, header, data)
		if done {
			e.backend.Counters.CountDirect(size)
			return true, nil
		}
		if accepted {
			return false, e.FinishSend(wake, nil)
		}
	}
	return false, e.send(key, size, header, data)
}

// openDirect lets senders make the system call. The connection stands.
func (q *queue) openDirect(fd int) {
	q.Mu.Lock()
	defer q.Mu.Unlock()
	q.socket = fd
}

// sendDirect hands a message to the system. done: it has taken all of it. accepted:
// what is left is in the queue; wake: and the loop must be woken. Neither: it is not
// the time for that.
func (q *queue) sendDirect(key netio.Key, size int, header []byte, data [][]byte) (done, accepted, wake bool) {
	q.Mu.Lock()
	defer q.Mu.Unlock()
	if q.socket < 0 || !q.Idle() {
		return false, false, false
	}
	if q.secure != nil {
		return q.sealDirect(key, size, header, data)
	}
	taken, errno := sendFrame(q.socket, size, header, data)
	if taken == lengthBytes+size {
		return true, false, false
	}
	switch errno {
	case 0, unix.EAGAIN, unix.ENOBUFS, unix.ENOMEM: // the loop will see for itself
	default:
		q.failed = errno
	}
	q.offset = taken
	return false, true, q.append(key, size, header, data)
}

// failure returns the error that a sender was told by the system and that the loop
// does not know yet, or 0.
func (q *queue) failure() unix.Errno {
	q.Mu.Lock()
	defer q.Mu.Unlock()
	return q.failed
}

// sendFrame hands a message to the system, from vectors on the stack of its sender. It
// returns how many bytes of the frame the system has taken, and why not all: 0 if it
// does not say.
func sendFrame(fd, size int, header []byte, data [][]byte) (int, unix.Errno) {
	var head [lengthBytes + netio.MaxHeaderBytes]byte
	var vectors [1 + directPieces]unix.Iovec
	vectors[0] = vector(frameHead(&head, size, header))
	n := 1
	for _, piece := range data {
		if len(piece) > 0 {
			noteRead(piece)
			vectors[n] = vector(piece)
			n++
		}
	}
	var message unix.Msghdr
	message.Iov = &vectors[0]
	message.SetIovlen(n)
	return sendMessage(fd, &message)
}

// frameHead fills head with what comes before the data of a frame, and returns it.
func frameHead(head *[lengthBytes + netio.MaxHeaderBytes]byte, size int, header []byte) []byte {
	binary.LittleEndian.PutUint32(head[:], uint32(size))
	return head[:lengthBytes+copy(head[lengthBytes:], header)]
}

// sendMessage writes the memory that m names, and returns how many bytes the system has
// taken. It never waits. A peer that is gone is EPIPE, not a signal.
func sendMessage(fd int, m *unix.Msghdr) (int, unix.Errno) {
	for {
		n, _, errno := unix.RawSyscall(unix.SYS_SENDMSG, uintptr(fd), uintptr(unsafe.Pointer(m)), unix.MSG_NOSIGNAL|unix.MSG_DONTWAIT)
		switch errno {
		case 0:
			return int(n), 0
		case unix.EINTR:
		default:
			return 0, errno
		}
	}
}
