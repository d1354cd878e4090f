// SPDX-License-Identifier: Apache-2.0

//go:build linux

package shm

import (
	"errors"
	"time"

	"golang.org/x/sys/unix"

	"tagbus/internal/invariants"
	"tagbus/netio"
)

// wakeRetry is the pause after which a wake-up is tried again for which the system had no
// memory.
const wakeRetry = 5 * time.Millisecond

// settle puts into the segment what has found no room before, and reports what the other
// side has read.
func (e *endpoint) settle() {
	if e.state != reported || e.IsClosed() {
		return
	}
	read, sent, err := e.queue.pump(&e.backend.Counters)
	if err != nil {
		e.end(e.OpError("send", err))
		return
	}
	// Not now: completions from which the next message is sent would go on for ever.
	if e.complete(read, sent) && !e.wakeLater() && e.queue.await() {
		e.Schedule(toFlush)
	}
}

// wakeLater reports whether the system has no memory to wake the other side. That is
// tried again.
func (e *endpoint) wakeLater() bool {
	if !e.queue.troubled() {
		return false
	}
	e.retry.F = func() { e.Schedule(toFlush) }
	e.backend.Alarms.Set(&e.retry, wakeRetry)
	return true
}

// troubled reports whether the other side could not be woken.
func (q *queue) troubled() bool {
	q.Mu.Lock()
	defer q.Mu.Unlock()
	return q.writer.trouble
}

// complete reports the sends before sent whose memory the other side has read, or does not
// see. It returns
// false if the endpoint is closed.
func (e *endpoint) complete(read, sent uint64) bool {
	q := &e.queue
	h := e.backend.Handler
	for i := q.Head.Load(); i != sent && q.at(i).lent <= read; i++ {
		if e.IsClosed() {
			return false
		}
		h.OnSendCompleted(netio.Completion{Endpoint: e, Key: e.finish(i)})
		if e.backend.spend(messageBytes) {
			e.Schedule(toFlush)
			break
		}
	}
	return e.Completed()
}

// finish empties entry i, which is the head of the queue, and returns its key.
func (e *endpoint) finish(i uint64) netio.Key {
	sent := e.queue.at(i)
	if invariants.Enabled && sent.checksum.Changed(sent.message.pieces...) {
		invariants.Report("the memory of the send with key %d from %v to %v (%d bytes) was changed before its key was reported",
			sent.Key, e.Local(), e.Remote(), sent.message.size)
	}
	done := sent.Entry
	sent.empty()
	return e.queue.Finish(i, done)
}

// awaitParting waits until the other side does not look at memory any more that it was
// lent. It blocks: only for the end of a backend.
func (e *endpoint) awaitParting(limit time.Time) {
	for e.queue.lends() {
		left := time.Until(limit)
		if left <= 0 {
			return
		}
		set := []unix.PollFd{{Fd: int32(e.fd), Events: unix.POLLIN | unix.POLLRDHUP}}
		timeout := unix.NsecToTimespec(int64(left))
		n, err := unix.Ppoll(set, &timeout, nil)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if n == 0 || err != nil || set[0].Revents&^unix.POLLIN != 0 {
			return // it has gone, or does not answer
		}
		drain(e.fd, &e.backend.control)
	}
}
