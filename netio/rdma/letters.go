// SPDX-License-Identifier: Apache-2.0

//go:build libfabric && cgo

package rdma

import (
	"errors"
	"time"

	"tagbus/netio"
	"tagbus/netio/rdma/internal/fi"
)

const (
	letterBytes = frameBytes + greetingBytes + maxNameBytes
	letterSlots = 64

	// letterTime is how long sending a letter is retried. An endpoint that needs an
	// answer has a limit of its own.
	letterTime = 5 * time.Second

	// lettersWaiting is how many letters may wait before answers to strangers are
	// left out: strangers ask again.
	lettersWaiting = 4096
)

// letter is a message of a hub itself: all frames but those of data.
type letter struct {
	from  *endpoint // nil: an answer to a stranger, which may be lost
	to    *peerAddr
	until time.Time
	n     int
	bytes [letterBytes]byte
}

// letters are those of a hub that are not sent yet. Only in a step.
type letters struct {
	mem     []byte
	mr      *fi.MR
	free    []uint32 // slots
	sending [letterSlots]letter
	waiting []letter
}

func (l *letters) open(d *device) (err error) {
	if l.mem, err = netio.AllocRegion(letterSlots * letterBytes); err != nil {
		return err
	}
	if l.mr, err = d.registerMemory(l.mem); err != nil {
		return err
	}
	for slot := range uint32(letterSlots) {
		l.free = append(l.free, slot)
	}
	return nil
}

// idle reports whether nothing is to be sent, or being sent.
func (l *letters) idle() bool { return len(l.waiting) == 0 && len(l.free) == letterSlots }

func (l *letters) close() error {
	var errs []error
	if l.mr != nil {
		errs = append(errs, l.mr.Close())
	}
	if l.mem != nil {
		errs = append(errs, netio.FreeRegion(l.mem))
	}
	l.mr, l.mem = nil, nil
	return errors.Join(errs...)
}

// mail sends a letter, soon. from may be nil.
func (h *hub) mail(from *endpoint, to *peerAddr, f frame, rest ...[]byte) {
	l := &h.letters
	if from == nil && len(l.waiting) >= lettersWaiting {
		return
	}
	l.waiting = append(l.waiting, letter{from: from, to: to, until: time.Now().Add(letterTime)})
	m := &l.waiting[len(l.waiting)-1]
	f.put(m.bytes[:])
	m.n = frameBytes
	for _, r := range rest {
		m.n += copy(m.bytes[m.n:], r)
	}
	to.users++
	if from != nil {
		from.letters++
	}
	h.enqueue()
}

// sendLetters posts what waits.
func (h *hub) sendLetters() {
	l := &h.letters
	n := min(len(l.waiting), len(l.free))
	for i := range n {
		slot := l.free[len(l.free)-1]
		l.free = l.free[:len(l.free)-1]
		m := &l.sending[slot]
		*m = l.waiting[i]
		at := l.mem[int(slot)*letterBytes:][:letterBytes]
		copy(at, m.bytes[:m.n])
		op := h.backend.op(h)
		op.EP, op.Addr, op.Context = h.handle, m.to.fi, contextOf(kindLetter, 0, slot)
		op.Kind, op.Flags, op.Count = fi.Send, fi.Completion, 1
		op.Pieces[0] = fi.Piece{Base: uint64(address(at)), Len: uint64(m.n), Desc: l.mr.Desc()}
		if m.n <= h.device.limits.InjectBytes {
			op.Flags |= fi.Inject
		}
	}
	if n > 0 {
		rest := copy(l.waiting, l.waiting[n:])
		clear(l.waiting[rest:])
		l.waiting = l.waiting[:rest]
		h.backend.look(h)
	}
}

// delivered notes that the letter of a slot was sent, or that it was not.
func (h *hub) delivered(slot uint32, err fi.Errno) {
	l := &h.letters
	if slot >= letterSlots || l.sending[slot].to == nil {
		return // not one of ours
	}
	m := &l.sending[slot]
	h.dropAddress(m.to)
	if e := m.from; e != nil {
		e.letters--
		if err != 0 {
			e.letterFailed(err)
		}
		if e.state == parting {
			e.Schedule(toSettle)
		}
	}
	*m = letter{}
	l.free = append(l.free, slot)
	if len(l.waiting) > 0 || h.listener == nil {
		h.enqueue()
	}
}

// returned notes that the letter of a slot was not posted: it is tried again for a
// while. Some providers connect underneath, and can post only when they have.
func (h *hub) returned(slot uint32, err fi.Errno) {
	l := &h.letters
	m := &l.sending[slot]
	if err != fi.EAGAIN || m.from != nil && m.from.state == ended || time.Now().After(m.until) {
		h.delivered(slot, err)
		return
	}
	l.waiting = append(l.waiting, *m)
	*m = letter{}
	l.free = append(l.free, slot)
}
