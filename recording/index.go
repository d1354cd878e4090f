// SPDX-License-Identifier: Apache-2.0

package recording

import (
	"encoding/binary"
	"math"
	"slices"
)

const (
	indexMagic  = "TBRi"
	cutMagic    = "TBRcut\r\n" // in front of an index of a file that was not closed, so that a part of it is no index of the writer
	footerMagic = "TBRend\r\n"
	indexHeader = 16
	entryBytes  = 32
	footerBytes = 48

	// mostIndexed bounds the blocks of an index, of which each takes less than 64 bytes of
	// memory. It matters where an int has 32 bits.
	mostIndexed = math.MaxInt / 64
)

// Flags of the footer.
const (
	continues = 1 << iota // another part follows
	repaired              // the index is not the writer's, which has not closed the file
	indexLost             // with repaired: the file was closed, and its index and footer were damaged
)

// appendEntry appends the entry of a block in the index.
func (ref *blockRef) appendEntry(b []byte) []byte {
	b = binary.LittleEndian.AppendUint64(b, uint64(ref.offset))
	b = binary.LittleEndian.AppendUint64(b, uint64(ref.first))
	b = binary.LittleEndian.AppendUint64(b, uint64(ref.last))
	b = binary.LittleEndian.AppendUint32(b, ref.messages)
	return binary.LittleEndian.AppendUint32(b, ref.events)
}

// appendEnd returns the header of an index of entries, and the footer.
//
//   - offset: of the index in the file.
func appendEnd(seed uint32, entries []byte, offset int64, messages, events uint64, flags byte) (head, foot []byte) {
	le := binary.LittleEndian
	blocks := uint64(len(entries) / entryBytes)
	head = append([]byte(indexMagic), 0, 0, 0, 0)
	head = le.AppendUint64(head, blocks)
	le.PutUint32(head[4:], checksum(checksum(seed, head[8:]), entries))
	foot = append([]byte{0, 0, 0, 0}, flags, 0, 0, 0)
	foot = le.AppendUint64(foot, uint64(offset))
	foot = le.AppendUint64(foot, blocks)
	foot = le.AppendUint64(foot, messages)
	foot = le.AppendUint64(foot, events)
	foot = append(foot, footerMagic...)
	le.PutUint32(foot, checksum(seed, foot[4:]))
	return head, foot
}

// end writes index and footer.
func (w *BlockWriter) end(flags byte) error {
	if w.err != nil {
		return w.err
	}
	head, foot := appendEnd(w.seed, w.index, w.written.Bytes, w.written.Messages, w.events, flags)
	for _, part := range [][]byte{head, w.index, foot} {
		if err := w.write(part); err != nil {
			return err
		}
	}
	return nil
}

// Repair returns what makes a file whose writer did not close it, or whose index is damaged, open by
// an index: the file is to be cut to a size, and to be extended by the bytes of tail. What is missing
// stays missing, and Verify goes on to say so: nothing is where only the index was damaged. tail is
// nil if the file has an index, or ends within its header.
func (r *Reader) Repair() (size int64, tail []byte) {
	if r.info.Indexed || r.end == 0 {
		return r.info.Bytes, nil
	}
	var entries []byte
	for i := range r.blocks {
		entries = r.blocks[i].appendEntry(entries)
	}
	flags := r.repairedFlags()
	if isOfCut(flags) {
		tail = []byte(cutMagic)
	}
	head, foot := appendEnd(r.seed, entries, r.end+int64(len(tail)), r.info.Messages, r.info.Events, flags)
	return r.end, slices.Concat(tail, head, entries, foot)
}

// isOfCut reports whether the flags are those of a file that was not closed.
func isOfCut(flags byte) bool { return flags&(repaired|indexLost) == repaired }

// isFooter reports whether bytes are a footer of a part with this seed.
func isFooter(foot []byte, seed uint32) bool {
	return len(foot) == footerBytes && string(foot[40:]) == footerMagic && binary.LittleEndian.Uint32(foot) == checksum(seed, foot[4:])
}

// repairedFlags returns the flags of a footer in the place of what is behind the last block.
func (r *Reader) repairedFlags() byte {
	if !r.info.IndexDamaged || r.info.Skipped > 0 {
		return repaired
	}
	// All blocks are there. The footer alone has what follows.
	le := binary.LittleEndian
	foot := make([]byte, footerBytes)
	if r.info.Cut < footerBytes || r.readAt(foot, r.info.Bytes-footerBytes) != nil ||
		!isFooter(foot, r.seed) || le.Uint64(foot[16:]) != uint64(len(r.blocks)) || le.Uint64(foot[24:]) != r.info.Messages || le.Uint64(foot[32:]) != r.info.Events {
		return repaired | indexLost
	}
	return foot[4] & (continues | repaired | indexLost)
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
	case !isFooter(foot, r.seed):
		return errNoIndex
	case offset < uint64(begin), offset > uint64(size), blocks > indexed/(entryBytes+blockHeaderBytes), blocks > mostIndexed:
		return errNoIndex
	case offset+indexHeader+blocks*entryBytes+footerBytes != uint64(size):
		return errNoIndex
	}
	head := make([]byte, indexHeader)
	if err := r.readAt(head, int64(offset)); err != nil {
		return err
	}
	if string(head[:4]) != indexMagic || le.Uint64(head[8:]) != blocks {
		return errNoIndex // before there is memory for its entries
	}
	entries := make([]byte, blocks*entryBytes)
	if err := r.readAt(entries, int64(offset)+indexHeader); err != nil {
		return err
	}
	if le.Uint32(head[4:]) != checksum(checksum(r.seed, head[8:]), entries) {
		return errNoIndex
	}
	if !r.takeEntries(entries, foot, begin) {
		r.blocks = nil
		return errNoIndex
	}
	r.info.Indexed, r.info.Continues, r.info.Repaired = true, foot[4]&continues != 0, foot[4]&repaired != 0
	r.info.IndexLost = r.info.Repaired && foot[4]&indexLost != 0
	r.end = int64(offset)
	return nil
}

// takeEntries reads the entries of the index, and reports whether they can be true: the
// blocks follow each other from begin to the index, and have as many messages and events as
// the footer says. Where the index is repaired, blocks may be missing.
func (r *Reader) takeEntries(b, foot []byte, begin int64) bool {
	le := binary.LittleEndian
	end, messages, events := int64(le.Uint64(foot[8:])), le.Uint64(foot[24:]), le.Uint64(foot[32:])
	full := foot[4]&repaired == 0
	r.blocks = make([]blockRef, len(b)/entryBytes)
	before := begin - blockHeaderBytes
	for i := range r.blocks {
		e := b[i*entryBytes:]
		ref := blockRef{
			offset: int64(le.Uint64(e)), first: int64(le.Uint64(e[8:])), last: int64(le.Uint64(e[16:])),
			messages: le.Uint32(e[24:]), events: le.Uint32(e[28:]),
		}
		if ref.offset < before+blockHeaderBytes || ref.offset > end-blockHeaderBytes || full && i == 0 && ref.offset != begin {
			return false
		}
		before = ref.offset
		messages -= uint64(ref.messages)
		events -= uint64(ref.events)
		r.blocks[i] = ref
	}
	return messages == 0 && events == 0 && (len(r.blocks) > 0 || begin == end || !full)
}

// limitOf returns where the block at i must have ended.
func (r *Reader) limitOf(i int) int64 {
	if i+1 < len(r.blocks) {
		return r.blocks[i+1].offset
	}
	return r.end
}
