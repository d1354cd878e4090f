// SPDX-License-Identifier: Apache-2.0

//go:build linux

package shm

import (
	"errors"
	"fmt"
	"io"

	"golang.org/x/sys/unix"

	"tagbus/internal/invariants"
	"tagbus/netio"
	"tagbus/netio/internal/handover"
)

// receiving is what an endpoint needs to receive.
type receiving struct {
	private    bool   // messages are delivered in memory of this side only
	delivering []byte // the message that OnData is being called with; nil: none
	kept       bool   // it is retained
	part       *block // in which a message is put together, or was delivered last; nil: none
	bytes      uint64 // received and not counted yet
	messages   uint64
}

// tellBytes and tellMessages are how much this side reads before it tells the other one.
const (
	tellBytes    = 32 << 10
	tellMessages = 16
)

// receive delivers what the other side has published.
func (e *endpoint) receive() {
	r := &e.reader
	if e.state != reported {
		return
	}
	closed, stopped := r.closed()
	if stopped {
		wake(e.fd)
	}
	if hold := e.Hold(); hold != 0 {
		r.awake() // there is no hurry
		if hold == handover.Paused && e.hungUp && !closed {
			e.end(e.OpError("receive", e.broken()))
		}
		return // ResumeReceive comes back here
	}
	budget := e.backend.config.readBudget
	for {
		hungUp := e.hungUp // before the look at what there is
		n, err := r.look()
		if err != nil {
			e.endBad(err)
			return
		}
		if n == 0 {
			if closed, _ = r.closed(); closed || hungUp {
				e.endOfStream(closed)
				return
			}
			if e.backend.watch(e) || !r.sleep() {
				return
			}
			continue
		}
		r.awake()
		if !e.deliver(n, &budget) {
			return
		}
	}
}

// deliver reads n descriptors. It returns false if that is all for this step.
func (e *endpoint) deliver(n uint64, budget *int) bool {
	r := &e.reader
	unsaid := 0
	for i := range n {
		if closed, stopped := r.closed(); closed && stopped {
			e.tell()
			wake(e.fd)
			return true // what there is to read may be less
		}
		front, data, err := r.next()
		if err == nil {
			err = e.accept(front, data, i == n-1)
		}
		if err != nil {
			e.endBad(err)
			return false
		}
		r.advance()
		cost := len(front) + len(data) + messageBytes
		*budget -= cost
		late := e.backend.spend(cost)
		if unsaid += cost + tellBytes/tellMessages; unsaid >= tellBytes || i == n-1 || e.Hold() != 0 || late {
			unsaid = 0
			e.tell()
		}
		if e.queue.HasRefusals() {
			// A handler that answers message for message would be refused for the
			// rest, though the other side has read some of the answers.
			e.settle()
		}
		if e.Hold() != 0 || e.state != reported {
			return false
		}
		if late || *budget <= 0 {
			e.Schedule(toRead)
			return false
		}
	}
	return true
}

// tell tells the other side how far this one has read.
func (e *endpoint) tell() {
	if e.reader.tell() && !wake(e.fd) {
		e.reader.answered = 0 // the next time
	}
}

// accept takes the next piece of a message, and delivers the message if it is whole. last:
// nothing more is there yet. Errors: netio.ErrNoMemory, and the system's.
func (e *endpoint) accept(front, data []byte, last bool) error {
	r := &e.reader
	size := int(r.size)
	whole := r.whole()
	have, counted := int(r.have), false
	if whole {
		have = size
		if e.part == nil && !e.private && e.inPlace(front, data) {
			counted = true
			e.count(size, last)
			if e.handOver(front, data) {
				return nil
			}
		}
	}
	before := have - len(front) - len(data)
	if err := e.grow(before, have, size, whole); err != nil {
		return err
	}
	n := copy(e.part.mem[before:], front)
	copy(e.part.mem[before+n:], data)
	if whole {
		if !counted {
			e.count(size, last)
		}
		e.hand(e.part.mem[:size:size])
		e.dropPart()
	}
	return nil
}

// inPlace reports whether a message of one piece can be delivered where it lies: nothing
// stands before it, or it is all that stands there, or the handler may take the two apart.
func (e *endpoint) inPlace(front, data []byte) bool {
	return len(front) == 0 || len(data) == 0 || e.backend.parts != nil && len(front) <= netio.MaxHeaderBytes
}

// handOver delivers it, and returns false if the handler wants it in one.
func (e *endpoint) handOver(front, data []byte) (taken bool) {
	switch {
	case len(data) == 0:
		e.hand(front)
	case len(front) == 0:
		e.hand(data)
	default:
		e.delivering = data
		taken = e.backend.parts.OnDataParts(e, front, data)
		e.delivering = nil
		return taken
	}
	return true
}

// partBytes is the memory for the first piece of a message that comes in parts.
const partBytes = 64 << 10

// grow makes room for have bytes of a message of some size, of which there were less
// before. A peer gets no more than twice of what it has sent, or partBytes.
func (e *endpoint) grow(before, have, size int, whole bool) error {
	if e.part != nil && have <= len(e.part.mem) {
		return nil
	}
	want := size
	if !whole {
		want = min(size, max(partBytes, 2*have))
	}
	b, err := e.backend.memory.get(want)
	if err != nil {
		return err
	}
	if e.part != nil {
		copy(b.mem, e.part.mem[:before])
		e.dropPart()
	}
	e.part = b
	return nil
}

// dropPart gives the memory of a message back, unless it is retained.
func (e *endpoint) dropPart() {
	if e.part != nil {
		e.part.Release()
		e.part = nil
	}
}

// count counts a message, which is delivered next.
func (e *endpoint) count(bytes int, last bool) {
	e.messages++
	e.bytes += uint64(bytes)
	if last {
		e.countReceived() // the handler finds it counted
	}
}

// hand makes the callback for a message.
func (e *endpoint) hand(data []byte) {
	e.delivering, e.kept = data, false
	e.backend.Handler.OnData(e, data)
	e.delivering = nil
	if invariants.Enabled && !e.kept {
		invariants.Poison(data)
	}
}

// Retain implements netio.Endpoint. A message that lies in memory of the other side is not
// kept. From then on the endpoint receives into memory of its own.
func (e *endpoint) Retain() (netio.Retained, error) {
	e.backend.CheckThread("Endpoint.Retain")
	switch {
	case e.delivering == nil:
		return nil, netio.ErrNoMessage
	case e.part == nil:
		e.private = true
		return nil, netio.ErrNoResources
	}
	e.kept = true
	e.part.users.Add(1)
	return e.part, nil
}

// countReceived adds to the statistics of the backend.
func (e *endpoint) countReceived() {
	if e.messages > 0 {
		e.backend.Counters.MessagesReceived.Add(e.messages)
		e.backend.Counters.BytesReceived.Add(e.bytes)
		e.messages, e.bytes = 0, 0
	}
}

// endBad ends the endpoint because of what the other side has published.
func (e *endpoint) endBad(err error) {
	if errors.Is(err, netio.ErrMessageLength) || errors.Is(err, ErrProtocol) {
		e.backend.Counters.BadMessages.Add(1)
	}
	e.end(e.OpError("receive", err))
}

// endOfStream ends the endpoint because the peer has closed, in order or not, and all
// that it has published was read.
func (e *endpoint) endOfStream(inOrder bool) {
	if e.reader.partial() {
		e.backend.Counters.Truncated.Add(1)
		e.end(e.OpError("receive", netio.ErrTruncated))
		return
	}
	if inOrder {
		e.end(io.EOF)
		return
	}
	e.end(e.OpError("receive", e.broken()))
}

// broken says that the other side has ended without closing.
func (e *endpoint) broken() error { return fmt.Errorf("%w: %w", errPeerGone, unix.ECONNRESET) }
