// SPDX-License-Identifier: Apache-2.0

package recording

import (
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"
	"time"

	"tagbus/internal/plain"
)

// ErrWhole is returned by Repair for a file that has its index.
var ErrWhole = errors.New("has its index: there is nothing to repair")

// ErrInUse is returned by Repair for a file on which another process has a lock.
var ErrInUse = errors.New("another process has the file open and locked: end it first, as with SIGINT")

// Repair completes a file whose writer was killed, in its place: it drops the bytes at the
// end that are no complete block, and writes an event Stopped that says so, index and
// footer. So the file stays one that is not whole.
//
// If the machine fails meanwhile, the file can be read by a walk as before.
//
//   - now: the time of the event, unless the file has later records.
//   - Result: what the file was before.
//
// Errors: as Open; ErrWhole and ErrInUse, wrapped with the name; ErrMalformed, wrapped, for
// a file whose header, or first block, is damaged: read it and write another one; those of
// writing.
func Repair(path string, now time.Time) (before Info, err error) {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return before, fmt.Errorf("recording: %w", err)
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	failed := func(err error) error { return fmt.Errorf("recording: repair %s: %w", plain.Text(path), err) }
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		return before, failed(ErrInUse)
	}
	stat, err := f.Stat()
	if err != nil {
		return before, failed(err)
	}
	r, err := NewReader(f, stat.Size(), ReaderConfig{Name: path})
	if err != nil {
		return before, err
	}
	before = r.Info()
	switch {
	case before.Indexed:
		return before, failed(ErrWhole)
	case before.HeaderDamage != nil:
		return before, failed(malformed("the file header is damaged"))
	case r.begin < headerBytes, r.end < r.begin, len(r.blocks) > 0 && r.blocks[0].offset != r.begin:
		return before, failed(malformed("the file does not begin with a header and a complete block"))
	}
	if err := f.Truncate(r.end); err != nil {
		return before, failed(err)
	}
	if _, err := f.Seek(r.end, io.SeekStart); err != nil {
		return before, failed(err)
	}
	if err := r.complete(f, now); err != nil {
		return before, err
	}
	if err := f.Sync(); err != nil {
		return before, failed(err)
	}
	return before, nil
}

// complete writes the event, index and footer behind the last block.
func (r *Reader) complete(to io.Writer, now time.Time) error {
	builder, err := NewBuilder(Config{})
	if err != nil {
		return err
	}
	if now.Before(r.info.Last) {
		now = r.info.Last
	}
	if err := builder.AppendEvent(Event{Kind: Stopped, Time: now, Failed: true, Text: r.info.WhyCut()}); err != nil {
		return err
	}
	w := &BlockWriter{w: to, cfg: Config{}.withDefaults(), header: r.info.Header, seed: r.seed, events: r.info.Events}
	w.written = Written{Bytes: r.end, Blocks: len(r.blocks), Messages: r.info.Messages}
	for i, b := range r.blocks {
		h := blockHeader{blockTotals: blockTotals{messages: b.messages, events: b.events, first: b.first, last: b.last}}
		w.index = h.appendEntry(w.index, b.offset)
		if i == len(r.blocks)-1 {
			if w.number, err = r.numberOf(i); err != nil {
				return r.readError(err)
			}
			w.number++
		}
	}
	if err := w.WriteBlock(builder.Seal(nil)); err != nil {
		return err
	}
	return w.Close()
}

// numberOf returns the number that a block has in its header.
func (r *Reader) numberOf(i int) (uint32, error) {
	b := make([]byte, blockHeaderBytes)
	if err := r.readAt(b, r.blocks[i].offset); err != nil {
		return 0, err
	}
	var h blockHeader
	if err := h.read(b, r.seed); !isBlock(err) {
		return 0, err
	}
	return h.number, nil
}

// WhyCut returns what is missing at the end of a file without an index, for people, and ""
// for one with an index.
func (i *Info) WhyCut() string {
	if i.Indexed {
		return ""
	}
	why := "the file was not closed: what its recorder wrote last is missing"
	if i.Cut > 0 {
		why += fmt.Sprintf(" (%s behind the last complete block)", count(uint64(i.Cut), "byte", "bytes"))
	}
	if i.Skipped > 0 {
		why += fmt.Sprintf("; %s between the blocks cannot be read", count(uint64(i.Skipped), "byte", "bytes"))
	}
	return why
}
