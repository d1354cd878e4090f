// SPDX-License-Identifier: Apache-2.0

//go:build libfabric && cgo

package rdma

import (
	"time"

	"tagbus/internal/alarm"
	"tagbus/netio"
	"tagbus/netio/rdma/internal/fi"
)

const (
	// signalSends and signalBytes are after how many sends, or bytes, one is
	// asked to report its completion, which is that of those before it, too.
	signalSends = 16
	signalBytes = 128 << 10

	// sendRetry is the pause after which a send is posted again that the device
	// had no room for.
	sendRetry = time.Millisecond
)

// sending is what an endpoint needs to send, besides its queue.
type sending struct {
	credits    int    // messages that the other side has room for
	quantum    int    // credits of an empty message from there
	depth      uint64 // sends that the device takes at once
	inject     int    // bytes of a message that is copied when it is posted
	bufferDesc uint64 // of the send buffers
	regionDesc uint64
	registered bool // the region is
	headers    []byte
	headerMR   *fi.MR
	bufferMR   *fi.MR // of the endpoint's own send buffers
	lastPosts  uint64 // crossing.posts when sends were last put into the ring
	stuck      bool   // the device has no room: wait for retry
	retry      alarm.Alarm
}

// flush posts what is in the queue, as far as the other side has room.
func (e *endpoint) flush() {
	b, q := e.backend, &e.queue
	if e.state != reported || e.stuck || e.peerGone || e.IsClosed() {
		return
	}
	tail := q.take()
	n := min(tail-q.posted, uint64(e.credits), e.depth-(q.posted-q.done))
	if n == 0 {
		return
	}
	if n > ringOps {
		n = ringOps
		e.Schedule(toFlush)
	}
	if e.lastPosts == b.crossing.posts+1 || b.crossing.ops+int(n) > ringOps {
		b.post() // those before must not be refused when these are not
		if e.stuck {
			return
		}
	}
	e.lastPosts = b.crossing.posts + 1
	bytes := 0
	for i := range n {
		if err := e.gather(q.posted); err != nil {
			e.breakDown("send", err)
			break
		}
		op := b.op(e)
		size := e.fillOp(op, q.posted)
		if bytes += size; e.hub != nil || i == n-1 || i%signalSends == signalSends-1 || bytes >= signalBytes {
			op.Flags |= fi.Completion
			bytes = 0
		}
		q.posted++
		e.credits--
		b.crossing.moved += size
	}
	b.look(e)
}

// fillOp makes op the request to send entry i, and returns its bytes.
func (e *endpoint) fillOp(op *fi.Op, i uint64) int {
	sent := e.queue.at(i)
	op.EP, op.Context, op.Flags, op.Kind = e.handle, e.contextOf(kindSend, uint32(i)), 0, fi.Send
	n := 0
	if e.hub != nil {
		op.Addr = e.peerAddr.fi
		op.Pieces[0] = e.framePiece(i, sent)
		n = 1
	} else if sent.headerBytes > 0 {
		op.Pieces[0] = fi.Piece{Base: uint64(address(e.queue.header(i))), Len: uint64(sent.headerBytes), Desc: e.headerMR.Desc()}
		n = 1
	}
	desc := e.regionDesc
	if sent.Buffer != nil {
		desc = e.bufferDesc
	}
	pieces := sent.pieces
	if g := sent.gathered; g != nil {
		op.Pieces[n] = fi.Piece{Base: uint64(address(g.mem)), Len: uint64(sent.bytes - sent.headerBytes), Desc: g.mr.Desc()}
		n, pieces = n+1, nil
	}
	for _, piece := range pieces {
		op.Pieces[n] = fi.Piece{Base: uint64(address(piece)), Len: uint64(len(piece)), Desc: desc}
		n++
	}
	op.Count = uint16(n)
	if sent.bytes+e.queue.prefix <= e.inject {
		op.Flags |= fi.Inject
	}
	return sent.bytes
}

// sent notes that the device has sent entry i, of which slot is a part, and all
// before it.
func (e *endpoint) sent(slot uint32) {
	q := &e.queue
	end := q.done + uint64(slot-uint32(q.done)) + 1
	if end > q.posted {
		return // not one of ours: nothing is to be believed of it
	}
	e.advance(end)
}

// advance notes that the device has sent all up to entry end.
func (e *endpoint) advance(end uint64) {
	q := &e.queue
	messages, bytes := end-q.done, 0
	for ; q.done != end; q.done++ {
		bytes += q.at(q.done).bytes
	}
	e.backend.Counters.MessagesSent.Add(messages)
	e.backend.Counters.BytesSent.Add(uint64(bytes))
}

// refused implements poster.
func (e *endpoint) refused(op *fi.Op) {
	switch kind, slot := kindOf(op.Context), uint32(op.Context); kind {
	case kindSend:
		q := &e.queue
		if i := q.done + uint64(slot-uint32(q.done)); i < q.posted {
			e.credits += int(q.posted - i)
			q.posted = i
		}
	case kindCredit:
		e.owed += e.ownQuantum
	default:
		e.unposted = append(e.unposted, slot)
	}
	if op.Err() != fi.EAGAIN {
		e.breakDown("post", op.Err())
		return
	}
	if e.hub != nil && e.isLost() {
		e.breakDown("send", netio.ErrTimeout)
		return
	}
	e.stuck = true
	e.retry.F = e.unstick
	e.backend.Alarms.Set(&e.retry, sendRetry)
}

// unstick posts again what was refused.
func (e *endpoint) unstick() {
	e.stuck = false
	slots := e.unposted
	e.unposted = nil
	for _, slot := range slots {
		e.postReceive(slot)
	}
	e.giveCredits()
	e.Schedule(toFlush)
}

// complete reports the messages that were sent. It returns false if the endpoint
// is closed.
func (e *endpoint) complete() bool {
	q := &e.queue
	h := e.backend.Handler
	for i := q.Head.Load(); i != q.done; i++ {
		if e.IsClosed() {
			return false
		}
		h.OnSendCompleted(netio.Completion{Endpoint: e, Key: e.finish(i)})
	}
	return e.Completed()
}

// finish empties entry i, which is the head of the queue, and returns its key.
func (e *endpoint) finish(i uint64) netio.Key {
	e.checkMemory(i)
	sent := e.queue.at(i)
	if sent.gathered != nil {
		e.device.gatherer.put(sent.gathered)
		sent.gathered = nil
	}
	done := sent.Entry
	sent.empty()
	return e.queue.Finish(i, done)
}
