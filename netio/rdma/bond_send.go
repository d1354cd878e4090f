// SPDX-License-Identifier: Apache-2.0

//go:build libfabric && cgo

package rdma

import (
	"time"

	"tagbus/netio/rdma/internal/fi"
)

// sendCredits sends the credits for consumed messages.
func (e *endpoint) sendCredits() {
	if e.owed >= e.ownQuantum && e.state == reported {
		e.hub.mail(e, e.peerAddr, frame{frameCredit, e.to, uint64(e.owed)})
		e.owed = 0
	}
}

// letterFailed notes that a letter was not delivered.
func (e *endpoint) letterFailed(err fi.Errno) {
	switch e.state {
	case connecting:
		if !e.active || !isPipe(err) {
			e.notConnected(err)
			return
		}
		// What the provider had connected underneath has ended, perhaps since the
		// last endpoint to there. It connects again.
		e.backend.Alarms.Set(&e.retry, sendRetry)
	case parting:
		e.gone = true // the other side is not there
		e.Schedule(toSettle)
	default:
		e.breakDown("send", err)
	}
}

// framePiece writes the frame of entry i in front of its header, and returns both.
func (e *endpoint) framePiece(i uint64, sent *entry) fi.Piece {
	sent.over = false
	at := e.queue.withPrefix(i)
	frame{frameData, e.to, i}.put(at)
	return fi.Piece{Base: uint64(address(at)), Len: uint64(frameBytes + sent.headerBytes), Desc: e.headerMR.Desc()}
}

// sentOne notes that the provider is through with the entry of which slot is a
// part. Sends may end in any order.
func (e *endpoint) sentOne(slot uint32, err fi.Errno) {
	q := &e.queue
	i := q.done + uint64(slot-uint32(q.done))
	if i >= q.posted {
		return // not one of ours
	}
	q.at(i).over = true
	e.since = time.Time{}
	end := q.done
	for end != q.posted && q.at(end).over {
		end++
	}
	e.advance(end)
	if err != 0 && e.state != parting {
		e.breakDown("send", err)
	}
	e.Schedule(toSettle)
}

// isLost reports whether sends were refused for so long that the other side must be gone:
// a provider that connects underneath retries for ever.
func (e *endpoint) isLost() bool {
	if e.since.IsZero() {
		e.since = time.Now()
	}
	return time.Since(e.since) > letterTime
}

// settle is what follows from sends that ended, and from credits.
func (e *endpoint) settle() {
	e.sayGone()
	switch e.state {
	case reported:
		if e.complete() {
			e.flush()
		}
		e.tryEnd()
	case parting:
		e.tryPart()
	default: // nothing was sent yet, or it is over
	}
}
