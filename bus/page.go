package bus

import (
	"encoding/binary"
	"fmt"

	"tagbus/subscription"
	"tagbus/tags"
)

// A page is what crosses the network: a header and one or more messages.
// Numbers are little-endian.
//
//	page header, 8 bytes
//	  1 byte   0x01, subscription.KindPage
//	  1 byte   flags: bit 0: messages carry their positions; bit 1: an Ack is wanted
//	  2 bytes  lane
//	  4 bytes  number of messages, at least 1
//	per message
//	  4 bytes  bit 31: a tag follows; bit 30: a status follows; bits 29..0: size
//	  1 byte   status, not 0, if bit 30 is set; otherwise the status is 0
//	  8 bytes  tag, if bit 31 is set; otherwise the tag of the message before
//	  8 bytes  position, if the page says so
//	  size     payload
//
// The first message of a page has a tag; the others have one only if it is not
// that of the message before, so that the same messages always make the same
// page. These constants are part of the wire protocol and must not change.
//
// Source: the coalesced buffer of netio3, with a header in front.
const (
	pageHeaderBytes = 8

	recordTagBit    = 1 << 31
	recordStatusBit = 1 << 30
	recordSizeMask  = recordStatusBit - 1

	// maxRecordOverhead is the most that a message takes beyond its payload,
	// in a page without positions.
	maxRecordOverhead = 4 + 1 + 8
	plainBytes        = 4 // beyond the payload of a plain message
	positionBytes     = 8

	positionsFlag = 1
	ackFlag       = 2
)

// pageWriter fills the memory of one page.
type pageWriter struct {
	mem      []byte // len: bytes written; cap: size of the page
	messages uint32
	last     tags.Tag // tag of the message before

	positions bool // messages carry theirs
}

// reset starts a page in mem, of which the header takes nothing: it differs
// from lane to lane and is sent before the page. The room for it stays free, so
// that header and page together are not larger than mem.
func (w *pageWriter) reset(mem []byte) {
	w.mem = mem[: 0 : cap(mem)-pageHeaderBytes]
	w.messages = 0
}

// putPageHeader writes the header of a page for a lane.
func putPageHeader(to *[pageHeaderBytes]byte, lane uint16, positions bool, messages uint32) {
	to[0], to[1] = byte(subscription.KindPage), 0
	if positions {
		to[1] = positionsFlag
	}
	binary.LittleEndian.PutUint16(to[2:], lane)
	binary.LittleEndian.PutUint32(to[4:], messages)
}

// append adds a message, or returns false and changes nothing if it does not
// fit.
//
//   - position: of the message, if the page carries positions.
func (w *pageWriter) append(tag tags.Tag, status Status, position uint64, data []byte) bool {
	if !w.fits(len(data)) {
		return false
	}
	if w.plain(tag, status) {
		w.mem = appendPlain(w.mem, data)
		w.messages++
		return true
	}
	w.header(tag, status, position, len(data))
	w.mem = append(w.mem, data...)
	return true
}

// appendRun adds the first of messages, as far as they are plain, have up to limit
// bytes, fit, and are together not much more than budget bytes of page. It returns
// how many, and the bytes of their payloads.
func (w *pageWriter) appendRun(messages []Message, limit, budget int) (n, bytes int) {
	mem := w.mem // a local: the field would be stored for each message
	end := min(cap(mem)-maxRecordOverhead, len(mem)+budget)
	for i := range messages {
		m := &messages[i]
		if len(m.Data) > limit || len(mem)+len(m.Data) > end || !w.plain(m.Tag, m.Status) {
			break
		}
		mem = appendPlain(mem, m.Data)
		n++
		bytes += len(m.Data)
	}
	w.mem = mem
	w.messages += uint32(n)
	return n, bytes
}

// plain tells whether a message takes nothing in the page but its size and its
// payload, as most do.
func (w *pageWriter) plain(tag tags.Tag, status Status) bool {
	return tag == w.last && status == 0 && w.messages > 0 && !w.positions
}

// appendPlain adds a plain message to a page that has room for it.
func appendPlain(page, data []byte) []byte {
	at := len(page)
	page = page[:at+plainBytes+len(data)]
	binary.LittleEndian.PutUint32(page[at:], uint32(len(data)))
	copy(page[at+plainBytes:], data)
	return page
}

// fits tells whether a message of n bytes surely does.
func (w *pageWriter) fits(n int) bool {
	if w.positions {
		n += positionBytes
	}
	return len(w.mem)+maxRecordOverhead+n <= cap(w.mem)
}

// header adds everything of a message but its payload.
func (w *pageWriter) header(tag tags.Tag, status Status, position uint64, size int) {
	head := uint32(size)
	if status != 0 {
		head |= recordStatusBit
	}
	if tag != w.last || w.messages == 0 {
		head |= recordTagBit
	}
	w.mem = binary.LittleEndian.AppendUint32(w.mem, head)
	if status != 0 {
		w.mem = append(w.mem, byte(status))
	}
	if head&recordTagBit != 0 {
		w.mem = binary.LittleEndian.AppendUint64(w.mem, uint64(tag))
		w.last = tag
	}
	if w.positions {
		w.mem = binary.LittleEndian.AppendUint64(w.mem, position)
	}
	w.messages++
}

// pageReader iterates over the messages of a page in place.
type pageReader struct {
	page   []byte
	offset int
	lane   uint16
	left   uint32 // messages not yet read

	positions bool // messages carry theirs
	ack       bool // the writer wants to hear that the last message was handled

	tag      tags.Tag
	newTag   bool // the message just read brought a tag
	status   Status
	position uint64 // if the page carries positions
	data     []byte
}

// reset starts to read a page.
//
// Errors: *PageError.
func (r *pageReader) reset(page []byte) error {
	*r = pageReader{page: page, offset: pageHeaderBytes}
	switch {
	case len(page) < pageHeaderBytes:
		return &PageError{len(page), "shorter than a page header"}
	case page[0] != byte(subscription.KindPage) || page[1]&^(positionsFlag|ackFlag) != 0:
		return &PageError{0, "unknown page header"}
	}
	r.positions, r.ack = page[1]&positionsFlag != 0, page[1]&ackFlag != 0
	r.lane = binary.LittleEndian.Uint16(page[2:])
	r.left = binary.LittleEndian.Uint32(page[4:])
	if r.left == 0 {
		return &PageError{4, "no messages"}
	}
	return nil
}

// nextPlain reads a message that is plain, as pageWriter.plain has it: it has the
// tag of the one before, and no status. It returns false, and has read nothing, if
// the next is another, or damaged, or none.
func (r *pageReader) nextPlain() (data []byte, ok bool) {
	rest := r.page[r.offset:]
	if len(rest) < plainBytes || r.left == 0 || r.positions || r.offset == pageHeaderBytes {
		return nil, false
	}
	head := binary.LittleEndian.Uint32(rest)
	if head > recordSizeMask || int(head) > len(rest)-plainBytes {
		return nil, false
	}
	end := plainBytes + int(head)
	r.offset += end
	r.left--
	return rest[plainBytes:end:end], true
}

// next reads a message. It returns false at the end of the page, with a nil
// error, and at damage.
//
// Errors: *PageError.
func (r *pageReader) next() (bool, error) {
	if r.left == 0 {
		return false, r.end()
	}
	rest := r.page[r.offset:]
	if len(rest) < 4 {
		return false, r.damaged("message header cut off")
	}
	head := binary.LittleEndian.Uint32(rest)
	used := 4
	r.status, r.newTag = 0, false
	if head&(recordTagBit|recordStatusBit) != 0 {
		n, err := r.optional(head, rest)
		if err != nil {
			return false, err
		}
		used = n
	} else if r.offset == pageHeaderBytes {
		return false, r.damaged("first message has no tag")
	}
	if r.positions {
		if len(rest) < used+positionBytes {
			return false, r.damaged("position cut off")
		}
		r.position = binary.LittleEndian.Uint64(rest[used:])
		used += positionBytes
	}
	size := int(head & recordSizeMask)
	if size > len(rest)-used {
		return false, r.damaged(fmt.Sprintf("message of %d bytes, %d left", size, len(rest)-used))
	}
	r.data = rest[used : used+size : used+size]
	r.offset += used + size
	r.left--
	return true, nil
}

// optional reads the status and the tag that head announces and returns the
// bytes used with the header.
func (r *pageReader) optional(head uint32, rest []byte) (int, error) {
	used := 4
	if head&recordStatusBit != 0 {
		if len(rest) <= used {
			return 0, r.damaged("status cut off")
		}
		if r.status = Status(rest[used]); r.status == 0 {
			return 0, r.damaged("status of zero written out")
		}
		used++
	}
	if head&recordTagBit != 0 {
		if len(rest) < used+8 {
			return 0, r.damaged("tag cut off")
		}
		tag := tags.Tag(binary.LittleEndian.Uint64(rest[used:]))
		if tag == r.tag && r.offset != pageHeaderBytes {
			return 0, r.damaged("tag of the message before written out")
		}
		r.tag, r.newTag = tag, true
		used += 8
	} else if r.offset == pageHeaderBytes {
		return 0, r.damaged("first message has no tag")
	}
	return used, nil
}

func (r *pageReader) end() error {
	if r.offset != len(r.page) {
		return r.damaged(fmt.Sprintf("%d bytes after the last message", len(r.page)-r.offset))
	}
	return nil
}

func (r *pageReader) damaged(reason string) error { return &PageError{r.offset, reason} }
