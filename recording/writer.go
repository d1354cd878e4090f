// SPDX-License-Identifier: Apache-2.0

package recording

import (
	"io"
	"time"

	"tagbus/bus"
)

// Writer writes a recording: a Builder and a BlockWriter in one, for programs that may wait
// for the disk where they append.
//
//	w, err := recording.NewWriter(file, recording.Header{Name: "test"}, recording.Config{})
//	if err != nil {
//		return err
//	}
//	for m, err := range sub.Messages(ctx) {
//		if err != nil {
//			break
//		}
//		if err := w.Append(time.Now(), &m); err != nil {
//			return err
//		}
//	}
//	return w.Close()
//
// Threads: one at a time.
type Writer struct {
	builder *Builder
	blocks  *BlockWriter
}

// NewWriter begins a recording: it writes the file header. w and h are as in
// NewBlockWriter.
//
// Errors: those of Config.Validate; those of w.
func NewWriter(w io.Writer, h Header, cfg Config) (*Writer, error) {
	builder, err := NewBuilder(cfg)
	if err != nil {
		return nil, err
	}
	blocks, err := NewBlockWriter(w, h, cfg)
	if err != nil {
		return nil, err
	}
	return &Writer{builder, blocks}, nil
}

// Append appends a message, which was received at a time. It writes the block if that is
// full.
//
// Errors: ErrBlockFull; those of the file and of OnBlock, now or earlier; ErrClosed.
func (w *Writer) Append(at time.Time, m *bus.Message) error {
	if w.blocks.err != nil {
		return w.blocks.err
	}
	if err := w.builder.Append(at, m); err != nil {
		return err
	}
	return w.flushFull()
}

// AppendPage appends messages that were received together, such as those of a
// bus.BatchHandler. It writes the block if that is full.
//
// Errors: as Append.
func (w *Writer) AppendPage(at time.Time, page []bus.Message) error {
	if w.blocks.err != nil {
		return w.blocks.err
	}
	if err := w.builder.AppendPage(at, page); err != nil {
		return err
	}
	return w.flushFull()
}

// AppendEvent appends an event in its place among the messages.
//
// Errors: as Append; ErrEvent, wrapped with the kind.
func (w *Writer) AppendEvent(e Event) error {
	if w.blocks.err != nil {
		return w.blocks.err
	}
	if err := w.builder.AppendEvent(e); err != nil {
		return err
	}
	return w.flushFull()
}

func (w *Writer) flushFull() error {
	if !w.builder.Full() {
		return nil
	}
	return w.Flush()
}

// Flush ends the block and writes it, however small it is.
//
// Errors: those of the file and of OnBlock, now or earlier; ErrClosed.
func (w *Writer) Flush() error {
	block := w.builder.block
	err := w.blocks.WriteBlock(block)
	w.builder.Seal(block)
	return err
}

// Rotate goes on in another file, as BlockWriter.Rotate does. It flushes, except where
// OnBlock calls it.
//
// Errors: those of both files and of OnBlock, now or earlier; ErrClosed.
func (w *Writer) Rotate(to io.Writer) error {
	if err := w.Flush(); err != nil {
		return err
	}
	return w.blocks.Rotate(to)
}

// Header returns the header of the current part, with what was filled in.
func (w *Writer) Header() Header { return w.blocks.Header() }

// Written returns what is written of the current part, without the block that is being
// filled.
func (w *Writer) Written() Written { return w.blocks.Written() }

// Close writes the last block, index and footer. The file is complete, and not closed. The
// second call returns ErrClosed.
//
// Errors: those of the file and of OnBlock, now or earlier; ErrClosed.
func (w *Writer) Close() error {
	if err := w.Flush(); err != nil {
		return err
	}
	return w.blocks.Close()
}
