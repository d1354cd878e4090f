// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"encoding/binary"

	"tagbus/tags"
)

const (
	// Kind is the first byte of a page. No control message begins with it.
	Kind = 0x01

	// HeaderBytes is what the header of a page takes.
	HeaderBytes = 8

	// PlainBytes is what a plain message takes beyond its payload.
	PlainBytes = 4

	// MaxOverhead is the most that a message takes beyond its payload, in a page
	// without positions.
	MaxOverhead = 4 + 1 + 8

	// RequestBytes is what the id of a request, and the status with it, take at the
	// beginning of a payload.
	RequestBytes = 1 + IDBytes

	// IDBytes is the size of an ID.
	IDBytes = 16

	// PositionBytes is what a message takes more in a page with positions.
	PositionBytes = 8

	tagBit    = 1 << 31
	statusBit = 1 << 30
	sizeMask  = statusBit - 1

	positionsFlag = 1
	ackFlag       = 2
)

// Status is the status of a message as the writer of a page takes it: that of the user,
// below 256, or Request.
type Status uint16

// Request is the Status of a message whose payload begins as AppendRequest says.
const Request Status = 1 << 8

// ID names a request. That of all zeros names none.
type ID [IDBytes]byte

// AppendRequest adds what stands before the user's payload in that of a message which is a
// request, or a reply to one: the user's status and the id, RequestBytes in all.
//
//   - id: not zero.
func AppendRequest(payload []byte, status uint8, id ID) []byte {
	return append(append(payload, status), id[:]...)
}

// Writer fills the memory of one page.
type Writer struct {
	Mem       []byte // len: bytes written; cap: size of the page without its header
	Messages  uint32 // so far
	Positions bool   // messages carry theirs; set before Reset

	last tags.Tag // of the message before
}

// Reset starts a page in mem, of which the header takes nothing: it differs from lane
// to lane and is sent before the page.
func (w *Writer) Reset(mem []byte) {
	w.Mem = mem[:0]
	w.Messages = 0
}

// PutHeader writes the header of a page for a lane.
//
//   - ack: the receiver is to say when the last message is handled.
func PutHeader(to *[HeaderBytes]byte, lane uint16, positions, ack bool, messages uint32) {
	to[0], to[1] = Kind, 0
	if positions {
		to[1] |= positionsFlag
	}
	if ack {
		to[1] |= ackFlag
	}
	binary.LittleEndian.PutUint16(to[2:], lane)
	binary.LittleEndian.PutUint32(to[4:], messages)
}

// Append adds a message, or returns false and changes nothing if it does not
// fit.
//
//   - position: of the message, if the page carries positions.
func (w *Writer) Append(tag tags.Tag, status Status, position uint64, data []byte) bool {
	if !w.Fits(len(data)) {
		return false
	}
	if w.Plain(tag, status) {
		w.Mem = AppendPlain(w.Mem, data)
		w.Messages++
		return true
	}
	w.Header(tag, status, position, len(data))
	w.Mem = append(w.Mem, data...)
	return true
}

// Run begins a run of plain messages. It returns the memory of the page, to which the
// caller adds messages with AppendPlain while it is not longer than end, and which it
// gives back to Ran. In between the memory is a local variable of the caller: a field
// would be stored for each message.
//
//   - budget: bytes of page that the messages may take, except for the last of them.
func (w *Writer) Run(budget int) (mem []byte, end int) {
	return w.Mem, min(cap(w.Mem)-MaxOverhead, len(w.Mem)+budget)
}

// Ran ends a run, which has added n messages.
func (w *Writer) Ran(mem []byte, n int) {
	w.Mem = mem
	w.Messages += uint32(n)
}

// Plain reports whether a message is plain behind what the page has.
func (w *Writer) Plain(tag tags.Tag, status Status) bool {
	return tag == w.last && status == 0 && w.Messages > 0 && !w.Positions
}

// AppendPlain adds a plain message to a page that has room for it.
func AppendPlain(page, data []byte) []byte {
	at := len(page)
	page = page[:at+PlainBytes+len(data)]
	binary.LittleEndian.PutUint32(page[at:], uint32(len(data)))
	copy(page[at+PlainBytes:], data)
	return page
}

// Fits reports whether a message of n bytes surely fits.
func (w *Writer) Fits(n int) bool {
	if w.Positions {
		n += PositionBytes
	}
	return len(w.Mem)+MaxOverhead+n <= cap(w.Mem)
}

// Header adds everything of a message but its payload.
func (w *Writer) Header(tag tags.Tag, status Status, position uint64, size int) {
	head := uint32(size)
	if status != 0 {
		head |= statusBit
	}
	if tag != w.last || w.Messages == 0 {
		head |= tagBit
	}
	w.Mem = binary.LittleEndian.AppendUint32(w.Mem, head)
	if status != 0 {
		w.Mem = append(w.Mem, byte(status)) // 0 of a Request
	}
	if head&tagBit != 0 {
		w.Mem = binary.LittleEndian.AppendUint64(w.Mem, uint64(tag))
		w.last = tag
	}
	if w.Positions {
		w.Mem = binary.LittleEndian.AppendUint64(w.Mem, position)
	}
	w.Messages++
}

// Tags calls f with the tags of the messages of a page without positions, once for as
// many messages of one tag as follow each other.
//
//   - records: the page without its header; it is not damaged.
//   - messages: how many the page has, at least 1.
func Tags(records []byte, messages uint32, f func(tag tags.Tag, count uint64)) {
	var tag tags.Tag
	var count uint64
	for offset, left := 0, messages; left > 0; left-- {
		head := binary.LittleEndian.Uint32(records[offset:])
		offset += 4
		if head&statusBit != 0 {
			offset++
		}
		if head&tagBit != 0 {
			if count > 0 {
				f(tag, count)
			}
			tag, count = tags.Tag(binary.LittleEndian.Uint64(records[offset:])), 0
			offset += 8
		}
		offset += int(head & sizeMask)
		count++
	}
	f(tag, count)
}
