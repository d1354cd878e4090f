// SPDX-License-Identifier: Apache-2.0

package recording

import (
	"bytes"
	"errors"
	"strings"
)

// walk finds the blocks of a file without an index. Each header has the size of its block,
// and so the place of the next one. Where there is no header, it looks for the next one.
//
// Blocks at the end whose checksums are wrong are left out: after a power failure a file
// may have its size and not its content.
//
// Errors: those of reading.
func (r *Reader) walk(begin int64) error {
	at, number := begin, uint32(0)
	var ends []int64 // of the blocks
	header := make([]byte, blockHeaderBytes)
	search := search{r: r}
	for r.info.Bytes-at >= blockHeaderBytes {
		if err := r.readAt(header, at); err != nil {
			return err
		}
		var h blockHeader
		if err := h.read(header, r.seed); !isBlock(err) || h.number < number {
			next, err := search.next(at+1, number)
			if err != nil {
				return err
			}
			if next < 0 {
				break
			}
			at = next
			continue
		}
		if h.size() > r.info.Bytes-at {
			break // it was being written
		}
		r.blocks = append(r.blocks, blockRef{at, h.first, h.last, h.messages, h.events})
		number = h.number + 1
		at += h.size()
		ends = append(ends, at)
	}
	if err := r.dropBroken(); err != nil {
		return err
	}
	r.end = begin
	for i, b := range r.blocks {
		r.info.Skipped += b.offset - r.end
		r.end = ends[i]
	}
	r.info.Cut = r.info.Bytes - r.end
	return r.noteDamagedIndex()
}

// noteDamagedIndex notes whether what is behind the last block is an index of the writer, of which one of
// its two ends is enough: the writer begins it when it closes the file.
//
// Errors: those of reading.
func (r *Reader) noteDamagedIndex() error {
	begin, end := make([]byte, min(r.info.Cut, int64(len(indexMagic)))), make([]byte, min(r.info.Cut, footerBytes))
	if err := r.readAt(begin, r.end); err != nil {
		return err
	}
	if err := r.readAt(end, r.info.Bytes-int64(len(end))); err != nil {
		return err
	}
	isWhole := r.info.Cut == indexHeader+entryBytes*int64(len(r.blocks))+footerBytes && strings.HasSuffix(string(end), footerMagic)
	if isFooter(end, r.seed) && isOfCut(end[4]) { // earlier versions wrote it where the writer does
		return nil
	}
	r.info.IndexDamaged = isWhole || string(begin) == indexMagic
	return nil
}

// isBlock reports whether a block header with this error is one: its checksum is right.
func isBlock(err error) bool {
	return err == nil || errors.Is(err, ErrVersion)
}

// A search looks at so much of a file together. It begins with little, since what it
// looks for may be near.
const (
	firstSearchBytes = 4 << 10
	searchBytes      = 1 << 20
)

// search looks for block headers in a file. What it has read it does not read again, so that
// a file with many damaged headers is read about twice.
type search struct {
	r      *Reader
	window []byte
	at     int64 // of the window in the file
}

// next returns where the next block header with a right checksum is, from an offset on, of a
// block with at least this number; -1: there is none. Offsets ascend from call to call.
//
// Errors: those of reading.
func (s *search) next(from int64, number uint32) (int64, error) {
	for n := int64(firstSearchBytes); s.r.info.Bytes-from >= blockHeaderBytes; n = min(2*n, searchBytes) {
		if from+blockHeaderBytes > s.at+int64(len(s.window)) {
			if err := s.fill(from, n); err != nil {
				return 0, err
			}
		}
		for at := int(from - s.at); ; at++ {
			i := bytes.Index(s.window[at:], []byte(blockMagic))
			if i < 0 || at+i+blockHeaderBytes > len(s.window) {
				break
			}
			at += i
			var h blockHeader
			if isBlock(h.read(s.window[at:], s.r.seed)) && h.number >= number {
				return s.at + int64(at), nil
			}
		}
		from = s.at + int64(len(s.window)) - blockHeaderBytes + 1
	}
	return -1, nil
}

// fill reads n bytes from an offset on, or what there is.
//
// Errors: those of reading.
func (s *search) fill(from, n int64) error {
	n = min(n, s.r.info.Bytes-from)
	if int64(cap(s.window)) < n {
		s.window = make([]byte, n)
	}
	s.window, s.at = s.window[:n], from
	return s.r.readAt(s.window, from)
}

// dropBroken leaves out the last blocks while their checksums are wrong.
//
// Errors: those of reading.
func (r *Reader) dropBroken() error {
	for len(r.blocks) > 0 {
		last := len(r.blocks) - 1
		err := r.check(last)
		if !errors.Is(err, ErrChecksum) {
			return err
		}
		r.blocks = r.blocks[:last]
	}
	return nil
}

// check compares the checksums of a block, which is of any size, with its bytes.
//
// Errors: ErrChecksum; those of reading.
func (r *Reader) check(i int) error {
	at := r.blocks[i].offset
	b := make([]byte, blockHeaderBytes)
	if err := r.readAt(b, at); err != nil {
		return err
	}
	var h blockHeader
	if err := h.read(b, r.seed); !isBlock(err) {
		return err
	}
	at += blockHeaderBytes
	b = make([]byte, min(searchBytes, max(h.table, h.stored)))
	for _, part := range []struct{ bytes, sum uint32 }{{h.table, h.tableSum}, {h.stored, h.bodySum}} {
		sum := uint32(0)
		for left := int64(part.bytes); left > 0; {
			b = b[:min(left, int64(cap(b)))]
			if err := r.readAt(b, at); err != nil {
				return err
			}
			sum = checksum(sum, b)
			at += int64(len(b))
			left -= int64(len(b))
		}
		if sum != part.sum {
			return ErrChecksum
		}
	}
	return nil
}
