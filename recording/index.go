// SPDX-License-Identifier: Apache-2.0

package recording

import (
	"encoding/binary"
)

const (
	indexMagic  = "TBRi"
	footerMagic = "TBRend\r\n"
	indexHeader = 16
	entryBytes  = 32
	footerBytes = 48
)

// continues is a flag of the footer: another part follows.
const continues = 1

// appendEntry appends the entry of a block in the index.
func (h *blockHeader) appendEntry(b []byte, offset int64) []byte {
	b = binary.LittleEndian.AppendUint64(b, uint64(offset))
	b = binary.LittleEndian.AppendUint64(b, uint64(h.first))
	b = binary.LittleEndian.AppendUint64(b, uint64(h.last))
	b = binary.LittleEndian.AppendUint32(b, h.messages)
	return binary.LittleEndian.AppendUint32(b, h.events)
}

// end writes index and footer.
func (w *BlockWriter) end(more bool) error {
	if w.err != nil {
		return w.err
	}
	le := binary.LittleEndian
	head := append([]byte(indexMagic), 0, 0, 0, 0)
	head = le.AppendUint64(head, uint64(w.written.Blocks))
	le.PutUint32(head[4:], checksum(checksum(w.seed, head[8:]), w.index))
	flags := byte(0)
	if more {
		flags = continues
	}
	foot := make([]byte, 4, footerBytes)
	foot = append(foot, flags, 0, 0, 0)
	foot = le.AppendUint64(foot, uint64(w.written.Bytes))
	foot = le.AppendUint64(foot, uint64(w.written.Blocks))
	foot = le.AppendUint64(foot, w.written.Messages)
	foot = le.AppendUint64(foot, w.events)
	foot = append(foot, footerMagic...)
	le.PutUint32(foot, checksum(w.seed, foot[4:]))
	for _, part := range [][]byte{head, w.index, foot} {
		if err := w.write(part); err != nil {
			return err
		}
	}
	return nil
}

// readIndex finds the blocks by the index. begin is where the first one may be.
//
// Errors: errNoIndex, if there is none or it contradicts itself; those of reading.
func (r *Reader) readIndex(begin int64) error {
	size := r.info.Bytes
	if size-begin < indexHeader+footerBytes {
		return errNoIndex
	}
	le := binary.LittleEndian
	foot := make([]byte, footerBytes)
	if err := r.readAt(foot, size-footerBytes); err != nil {
		return err
	}
	offset, blocks := le.Uint64(foot[8:]), le.Uint64(foot[16:])
	indexed := uint64(size - footerBytes - indexHeader - begin) // at most, with the blocks
	switch {
	case string(foot[40:]) != footerMagic, le.Uint32(foot) != checksum(r.seed, foot[4:]):
		return errNoIndex
	case offset < uint64(begin), offset > uint64(size), blocks > indexed/(entryBytes+blockHeaderBytes):
		return errNoIndex
	case offset+indexHeader+blocks*entryBytes+footerBytes != uint64(size):
		return errNoIndex
	}
	index := make([]byte, indexHeader+blocks*entryBytes)
	if err := r.readAt(index, int64(offset)); err != nil {
		return err
	}
	if string(index[:4]) != indexMagic || le.Uint32(index[4:]) != checksum(r.seed, index[8:]) || le.Uint64(index[8:]) != blocks {
		return errNoIndex
	}
	if !r.takeEntries(index[indexHeader:], begin, int64(offset), le.Uint64(foot[24:]), le.Uint64(foot[32:])) {
		r.blocks = nil
		return errNoIndex
	}
	r.info.Indexed, r.info.Continues = true, foot[4]&continues != 0
	r.end = int64(offset)
	return nil
}

// takeEntries reads the entries of the index, and reports whether they can be true: they
// are of blocks from begin to end, with so many messages and events.
func (r *Reader) takeEntries(b []byte, begin, end int64, messages, events uint64) bool {
	le := binary.LittleEndian
	r.blocks = make([]blockRef, len(b)/entryBytes)
	before := begin - blockHeaderBytes
	for i := range r.blocks {
		e := b[i*entryBytes:]
		ref := blockRef{
			offset: int64(le.Uint64(e)), first: int64(le.Uint64(e[8:])), last: int64(le.Uint64(e[16:])),
			messages: le.Uint32(e[24:]), events: le.Uint32(e[28:]),
		}
		if ref.offset < before+blockHeaderBytes || ref.offset > end-blockHeaderBytes || i == 0 && ref.offset != begin {
			return false
		}
		before = ref.offset
		messages -= uint64(ref.messages)
		events -= uint64(ref.events)
		r.blocks[i] = ref
	}
	return messages == 0 && events == 0 && (len(r.blocks) > 0 || begin == end)
}

// limitOf returns where the block at i must have ended.
func (r *Reader) limitOf(i int) int64 {
	if i+1 < len(r.blocks) {
		return r.blocks[i+1].offset
	}
	return r.end
}
