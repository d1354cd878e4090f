// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"encoding/binary"
	"fmt"

	"tagbus/tags"
)

// Reader iterates over the messages of a page in place.
//
// A page may lie in memory of its publisher, which may change it at any time. So each number
// is read once, and what is checked is what is used.
type Reader struct {
	page   []byte // behind the header
	offset int

	// Of the page.
	Lane      uint16
	Left      uint32 // messages not yet read
	Positions bool   // messages carry theirs
	Ack       bool   // an Ack is wanted when the last message is handled

	// Of the message that Next has read. NextPlain leaves them as they are.
	Tag      tags.Tag
	NewTag   bool // the message brought a tag
	Status   uint8
	Request  bool   // it has the ID of a request
	ID       ID     // if so
	Position uint64 // if the page carries positions
	Data     []byte // a part of the page, behind the id
}

// Split returns the header of a page, or as much of it as there is, and the rest.
func Split(page []byte) (head, records []byte) {
	n := min(HeaderBytes, len(page))
	return page[:n:n], page[n:]
}

// Reset starts to read a page.
//
//   - head: its header.
//   - records: the rest, which may lie elsewhere.
//   - Errors: *Error.
func (r *Reader) Reset(head, records []byte) error {
	*r = Reader{page: records}
	if len(head) != HeaderBytes {
		return &Error{len(head), "shorter than a page header"}
	}
	kind, flags := head[0], head[1]
	if kind != Kind || flags&^(positionsFlag|ackFlag) != 0 {
		return &Error{0, "unknown page header"}
	}
	r.Positions, r.Ack = flags&positionsFlag != 0, flags&ackFlag != 0
	r.Lane = binary.LittleEndian.Uint16(head[2:])
	r.Left = binary.LittleEndian.Uint32(head[4:])
	if r.Left == 0 {
		return &Error{4, "no messages"}
	}
	return nil
}

// NextPlain reads a plain message: it has the tag of the one before, and no status. It
// returns false, and has read nothing, if the next message is not plain, or damaged, or
// if there is none.
func (r *Reader) NextPlain() (data []byte, ok bool) {
	rest := r.page[r.offset:]
	if len(rest) < PlainBytes || r.Left == 0 || r.Positions || r.offset == 0 {
		return nil, false
	}
	head := binary.LittleEndian.Uint32(rest)
	if head > sizeMask || int(head) > len(rest)-PlainBytes {
		return nil, false
	}
	end := PlainBytes + int(head)
	r.offset += end
	r.Left--
	return rest[PlainBytes:end:end], true
}

// Plain returns where NextPlain would read: in page from at on, at most left messages,
// which have room there. Cut reads them, and Skip says how far.
func (r *Reader) Plain() (page []byte, at, left int) {
	if r.Positions || r.offset == 0 {
		return nil, 0, 0
	}
	room := (len(r.page) - r.offset) / PlainBytes
	return r.page, r.offset, int(min(uint64(r.Left), uint64(room)))
}

// Skip goes on behind messages that Cut has read, if any.
//
//   - at: where the next one begins.
func (r *Reader) Skip(at, messages int) {
	if messages > 0 {
		r.offset = at
		r.Left -= uint32(messages)
	}
}

// Cut reads a plain message at a place in a page, and returns where the next one begins.
// It returns false if the message is not plain, or damaged, or if there is none. So that
// many in a row are read fast, the next place depends on as little as possible.
//
// A run that is cut a second time may be another one by then, with fewer messages or more, if
// it lies in memory of its publisher: the caller counts those of the first time.
//
//   - at: at most the length of the page.
func Cut(page []byte, at int) (data []byte, next int, ok bool) {
	if len(page)-at < PlainBytes {
		return nil, at, false
	}
	head := binary.LittleEndian.Uint32(page[at:])
	next = at + PlainBytes + int(head)
	if head > sizeMask || next > len(page) {
		return nil, at, false
	}
	return page[at+PlainBytes : next : next], next, true
}

// Run reads the plain messages that follow, as NextPlain does one by one. Cut takes the
// bytes of a run apart.
func (r *Reader) Run() (run []byte, messages int) {
	page, at, left := r.Plain()
	begin := at
	for messages < left {
		_, next, ok := Cut(page, at)
		if !ok {
			break
		}
		at = next
		messages++
	}
	r.Skip(at, messages)
	return page[begin:at], messages
}

// Next reads a message. It returns false at the end of the page, with a nil
// error, and at damage.
//
// Errors: *Error.
func (r *Reader) Next() (bool, error) {
	if r.Left == 0 {
		return false, r.end()
	}
	rest := r.page[r.offset:]
	if len(rest) < 4 {
		return false, r.damaged("message header cut off")
	}
	head := binary.LittleEndian.Uint32(rest)
	used := 4
	r.Status, r.NewTag, r.Request = 0, false, false
	if head&(tagBit|statusBit) != 0 {
		n, err := r.optional(head, rest)
		if err != nil {
			return false, err
		}
		used = n
	} else if r.offset == 0 {
		return false, r.damaged("first message has no tag")
	}
	if r.Positions {
		if len(rest) < used+PositionBytes {
			return false, r.damaged("position cut off")
		}
		r.Position = binary.LittleEndian.Uint64(rest[used:])
		used += PositionBytes
	}
	size := int(head & sizeMask)
	if size > len(rest)-used {
		return false, r.damaged(fmt.Sprintf("message of %d bytes, %d left", size, len(rest)-used))
	}
	r.Data = rest[used : used+size : used+size]
	if r.Request {
		if err := r.takeID(); err != nil {
			return false, err
		}
	}
	r.offset += used + size
	r.Left--
	return true, nil
}

// optional reads the status and the tag that head announces and returns the
// bytes used with the header.
func (r *Reader) optional(head uint32, rest []byte) (int, error) {
	used := 4
	if head&statusBit != 0 {
		if len(rest) <= used {
			return 0, r.damaged("status cut off")
		}
		r.Status = rest[used]
		r.Request = r.Status == 0
		used++
	}
	if head&tagBit != 0 {
		if len(rest) < used+8 {
			return 0, r.damaged("tag cut off")
		}
		tag := tags.Tag(binary.LittleEndian.Uint64(rest[used:]))
		if tag == r.Tag && r.offset != 0 {
			return 0, r.damaged("tag of the message before written out")
		}
		r.Tag, r.NewTag = tag, true
		used += 8
	} else if r.offset == 0 {
		return 0, r.damaged("first message has no tag")
	}
	return used, nil
}

// takeID takes the status and the id of a request from the beginning of the payload.
func (r *Reader) takeID() error {
	if len(r.Data) < RequestBytes {
		return r.damaged(fmt.Sprintf("request of %d bytes, its id takes %d", len(r.Data), RequestBytes))
	}
	r.Status, r.ID, r.Data = r.Data[0], ID(r.Data[1:RequestBytes]), r.Data[RequestBytes:]
	if r.ID == (ID{}) {
		return r.damaged("request with an id of zero")
	}
	return nil
}

func (r *Reader) end() error {
	if r.offset != len(r.page) {
		return r.damaged(fmt.Sprintf("%d bytes after the last message", len(r.page)-r.offset))
	}
	return nil
}

func (r *Reader) damaged(reason string) error { return &Error{HeaderBytes + r.offset, reason} }

// Error says why a page could not be read.
type Error struct {
	Offset int // byte within the page
	Reason string
}

// Error names the place and the reason.
func (e *Error) Error() string { return fmt.Sprintf("damaged page at byte %d: %s", e.Offset, e.Reason) }
