// SPDX-License-Identifier: Apache-2.0

package recording

import (
	"fmt"
	"io"
	"time"

	"github.com/klauspost/compress/s2"
	"github.com/klauspost/compress/zstd"
)

// BlockWriter compresses blocks and writes them, and at the end the index and the footer.
// It does the slow work of a recorder, apart from the Builder that fills the blocks.
//
// Each block is two calls of Write, so the file needs no buffer. After an error of Write,
// or of OnBlock, every method returns that error: what is in the file is readable by a
// walk.
//
// Threads: one at a time.
type BlockWriter struct {
	w      io.Writer
	cfg    Config
	header Header
	seed   uint32

	written Written
	index   []byte
	events  uint64
	err     error // of an earlier call

	front      []byte // header and table of a block
	compressed []byte
	zstd       *zstd.Encoder
}

// NewBlockWriter begins a recording: it writes the file header.
//
//   - w: where the bytes go, usually an *os.File. It is not closed.
//   - h: what the file is to say of the recording. An ID and a time of creation are filled
//     in if they are zero.
//
// Errors: those of Config.Validate; those of w.
func NewBlockWriter(w io.Writer, h Header, cfg Config) (*BlockWriter, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	if h.ID == (ID{}) {
		h.ID = NewID()
	}
	b := &BlockWriter{cfg: cfg.withDefaults(), header: h}
	if cfg.Codec == Zstd {
		var err error
		if b.zstd, err = zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1), zstd.WithEncoderCRC(false)); err != nil {
			return nil, fmt.Errorf("recording: %w", err)
		}
	}
	if err := b.beginFile(w); err != nil {
		return nil, err
	}
	return b, nil
}

// beginFile writes the file header to w.
func (w *BlockWriter) beginFile(to io.Writer) error {
	if w.header.Created.IsZero() {
		w.header.Created = time.Now()
	}
	w.w, w.seed = to, w.header.seed()
	w.written, w.events, w.index = Written{}, 0, w.index[:0]
	b := w.header.append(nil)
	if n := len(b) - headerBytes; n > mostHeaderBytes {
		return fmt.Errorf("%w: the header has %d bytes of fields, want at most %d", ErrInvalidConfig, n, mostHeaderBytes)
	}
	return w.write(b)
}

// write writes bytes, and remembers an error.
func (w *BlockWriter) write(b []byte) error {
	n, err := w.w.Write(b)
	w.written.Bytes += int64(n)
	if err != nil {
		w.err = fmt.Errorf("recording: write: %w", err)
	}
	return w.err
}

// Header returns the header of the current part, with what was filled in.
func (w *BlockWriter) Header() Header { return w.header }

// Written returns what is written of the current part.
func (w *BlockWriter) Written() Written { return w.written }

// WriteBlock writes a block, empties it, and calls OnBlock. It does nothing for an empty
// block.
//
// Errors: those of w and OnBlock, now or earlier; ErrClosed. The block is empty then too.
func (w *BlockWriter) WriteBlock(b *Block) error {
	err := w.writeBlock(b)
	empty := b.isEmpty()
	b.reset() // before OnBlock, which may flush
	if err != nil || empty {
		return err
	}
	if err := w.cfg.OnBlock(w.written); err != nil {
		w.err = err
	}
	return w.err
}

func (w *BlockWriter) writeBlock(b *Block) error {
	if w.err != nil || b.isEmpty() {
		return w.err
	}
	h := blockHeader{blockTotals: b.blockTotals, decoded: uint32(len(b.body)), number: uint32(w.written.Blocks)}
	stored, codec := w.compress(b.body)
	h.stored, h.codec, h.bodySum = uint32(len(stored)), codec, checksum(0, stored)
	front := append(w.front[:0], make([]byte, blockHeaderBytes)...)
	front = b.appendTable(front)
	if least := h.work()/defaultMaxExpansion + 1; int64(len(front)+len(stored)) < least {
		// What a reader takes for hostile begins above this.
		front = append(front, make([]byte, int(least)-len(front)-len(stored))...)
	}
	w.front = front
	h.table, h.tableSum = uint32(len(front)-blockHeaderBytes), checksum(0, front[blockHeaderBytes:])
	h.append(front[:0], w.seed)
	offset := w.written.Bytes
	if w.write(front) != nil || w.write(stored) != nil {
		return w.err
	}
	ref := blockRef{offset, h.first, h.last, h.messages, h.events}
	w.index = ref.appendEntry(w.index)
	w.written.Blocks++
	w.written.Messages += uint64(b.messages)
	w.events += uint64(b.events)
	return nil
}

// compress returns the body as it is stored.
func (w *BlockWriter) compress(body []byte) ([]byte, Codec) {
	switch w.cfg.Codec {
	case S2:
		n := s2.MaxEncodedLen(len(body))
		if n < 0 {
			return body, None // too large for it
		}
		if cap(w.compressed) < n {
			w.compressed = make([]byte, n)
		}
		w.compressed = s2.Encode(w.compressed[:cap(w.compressed)], body)
	case Zstd:
		w.compressed = w.zstd.EncodeAll(body, w.compressed[:0])
	default:
		return body, None
	}
	if len(w.compressed) >= len(body) {
		return body, None
	}
	return w.compressed, w.cfg.Codec
}

// Rotate ends the part, which says that another one follows, and begins that one in
// another file. OnBlock may call it.
//
//   - to: where the bytes go from now on. The file before is complete, and not closed.
//
// Errors: those of both files, now or earlier; ErrClosed.
func (w *BlockWriter) Rotate(to io.Writer) error {
	if err := w.end(continues); err != nil {
		return err
	}
	w.header.Part++
	w.header.Created = time.Time{}
	return w.beginFile(to)
}

// Close writes index and footer. The file is complete, and not closed. The second call
// returns ErrClosed.
//
// Errors: those of w and OnBlock, now or earlier; ErrClosed.
func (w *BlockWriter) Close() error {
	if err := w.end(0); err != nil {
		return err
	}
	w.err = ErrClosed
	return nil
}
