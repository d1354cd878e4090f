// SPDX-License-Identifier: Apache-2.0

package bus

import (
	"unsafe"

	"tagbus/bus/internal/mailbox"
	"tagbus/bus/internal/retain"
	"tagbus/bus/internal/wire"
	"tagbus/netio"
	"tagbus/tags"
)

// cost returns what the messages count in the queue.
func (p *parcel) cost() int { return p.bytes + p.messages*mailbox.MessageBytes }

// addSingle adds a copy of a message of the box.
func (p *parcel) addSingle(m single) {
	to := part{tag: m.tag, status: m.status, counter: m.counter, n: 1}
	data := m.data
	if m.request {
		to.id = wire.ID(data)
		data = data[len(to.id):]
		p.requests = true
	}
	to.data = p.copied(data)
	p.parts = append(p.parts, to)
	p.messages++
	p.bytes += len(data)
}

// fits reports whether a message of the box has room. All are in one piece of memory.
func (p *parcel) fits(m single) bool {
	return p.messages == 0 || p.messages < parcelMessages && cap(p.own)-len(p.own) >= len(m.data)
}

// copied returns a copy of data in own.
func (p *parcel) copied(data []byte) []byte {
	if len(p.own) == 0 && cap(p.own) < len(data) {
		p.own = make([]byte, 0, max(len(data), ownBytes))
	}
	begin := len(p.own)
	p.own = append(p.own, data...)
	return p.own[begin:len(p.own):len(p.own)]
}

// copy moves all data to memory of the parcel's own, in one piece.
func (p *parcel) copy() {
	if cap(p.own) < p.size {
		p.own = make([]byte, 0, p.size)
	}
	for i := range p.parts {
		p.parts[i].data = p.copied(p.parts[i].data)
	}
}

// keepOnly removes the messages whose tag a set does not have.
func (p *parcel) keepOnly(set tags.Set) {
	kept := p.parts[:0]
	for _, x := range p.parts {
		if set.Contains(x.tag) {
			kept = append(kept, x)
			continue
		}
		size := len(x.data)
		p.size -= size
		if x.run {
			size -= x.n * wire.PlainBytes
		}
		p.messages -= x.n
		p.bytes -= size
	}
	clear(p.parts[len(kept):])
	p.parts = kept
}

// appendRun appends the messages of a run, field by field: a copy of a message that was just
// written is slow.
func (x *part) appendRun(messages []Message, p *parcel, turn uint32) []Message {
	at := 0
	for i := range x.n {
		data, next, _ := wire.Cut(x.data, at)
		at = next
		if len(messages) == cap(messages) {
			messages = append(messages, Message{})
		} else {
			messages = messages[:len(messages)+1]
		}
		to := &messages[len(messages)-1]
		to.Tag, to.Status, to.turn, to.Counter = x.tag, 0, turn, x.counter+uint64(i)
		to.Publisher, to.Data, to.origin = p.publisher, data, &p.origin
	}
	return messages
}

// rows sets rows to the messages of a run.
func (x *part) rows(rows []Row) {
	at := 0
	for i := range rows {
		data, next, _ := wire.Cut(x.data, at)
		at = next
		to := &rows[i]
		to.Tag, to.Counter, to.Data, to.Size, to.Status, to.Request = x.tag, x.counter+uint64(i), address(data), uint32(len(data)), 0, false
	}
}

// address returns where data is.
func address(data []byte) uintptr { return uintptr(unsafe.Pointer(unsafe.SliceData(data))) }

// keep keeps the memory for messages that are retained.
func (p *parcel) keep() (netio.Retained, error) {
	if p.page != nil && p.memory == nil && len(p.own) == 0 {
		memory, _, err := p.page.hold()
		if err != nil {
			return nil, err
		}
		p.memory = memory
	}
	if p.memory != nil {
		p.memory.use()
		return p.memory, nil
	}
	p.left = true
	return retain.Heap(cap(p.own)), nil
}

// retain counts the parcel as retained.
func (p *parcel) retain() error {
	if p.kept != nil {
		return nil
	}
	kept, turn, own, err := p.origin.RetainAll(p.origin.Turn(), p.bytes)
	if err != nil {
		return explainRetain(err)
	}
	if own {
		p.copy()
	}
	p.kept, p.keptTurn = kept, turn
	return nil
}

// release ends the parcel.
func (p *parcel) release() {
	if p.kept != nil {
		p.kept.Release(p.keptTurn)
		p.kept = nil
	}
	p.drop()
}

// drop gives the memory back.
func (p *parcel) drop() {
	p.origin.Next()
	if p.memory != nil {
		p.memory.Release()
	}
	p.shelf.recycle(p)
}
