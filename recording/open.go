// SPDX-License-Identifier: Apache-2.0

package recording

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"strings"
	"time"

	"tagbus/internal/flock"
	"tagbus/internal/sanitize"
	"tagbus/internal/stuck"
)

// blockRef is a block of a file, as the index or its header has it.
type blockRef struct {
	offset           int64
	first, last      int64
	messages, events uint32
}

// Open opens a file, by its index or by a walk.
//
// Errors: those of opening and reading the file; ErrNotFile, ErrNotRecording and ErrVersion,
// wrapped with its name; a *DamageError if the file header is damaged.
func Open(path string) (*Reader, error) {
	file, err := stuck.Open(path)
	if err != nil {
		return nil, fmt.Errorf("recording: %w", err)
	}
	beingWritten := flock.IsExclusive(file.File, stuck.On(path)) // before its size: an end that comes meanwhile is seen
	info, err := file.Stat()
	if err != nil {
		_ = file.Close()
		return nil, fmt.Errorf("recording: %w", err)
	}
	r, err := NewReader(file, info.Size(), ReaderConfig{Name: path, BeingWritten: beingWritten})
	if err != nil {
		_ = file.Close()
		return nil, err
	}
	r.closer = file
	return r, nil
}

// NewReader is Open for bytes that lie elsewhere.
//
//   - file: is used until the last iteration has ended. Close does not close it.
//   - size: of the recording, in bytes.
//
// Errors: those of ReaderConfig.Validate; ErrNotFile for an os.File; otherwise as Open.
func NewReader(file io.ReaderAt, size int64, cfg ReaderConfig) (*Reader, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	if hasNoSize(file) {
		return nil, fmt.Errorf("recording: %s: %w", sanitize.Text(cfg.Name), ErrNotFile)
	}
	r := &Reader{file: file, cfg: cfg.withDefaults(), end: size, peers: newPeers(), free: freeWork}
	r.info.File, r.info.Bytes = r.cfg.Name, size
	begin, err := r.readHeader()
	if err != nil {
		return nil, err
	}
	r.seed = r.info.seed()
	if begin < size {
		err = r.readIndex(begin)
		if errors.Is(err, errNoIndex) {
			err = r.walk(begin)
		}
	}
	if err != nil {
		return nil, r.readError(err)
	}
	r.sum()
	return r, nil
}

// hasNoSize reports whether a file is a pipe or a device: it would be taken for one that ends
// within its header.
func hasNoSize(file io.ReaderAt) bool {
	f, ok := file.(interface{ Stat() (fs.FileInfo, error) })
	if !ok {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&(fs.ModeNamedPipe|fs.ModeDevice|fs.ModeCharDevice|fs.ModeSocket) != 0
}

// errNoIndex says that a file is to be walked.
var errNoIndex = errors.New("no index")

// readError names the file of an error of reading.
func (r *Reader) readError(err error) error {
	return fmt.Errorf("recording: read %s: %w", sanitize.Text(r.cfg.Name), err)
}

// readAt fills b.
//
// Errors: those of the file; io.ErrUnexpectedEOF if it is shorter; the cause of the end of Context.
func (r *Reader) readAt(b []byte, offset int64) error {
	if r.cfg.Context.Err() != nil {
		return context.Cause(r.cfg.Context)
	}
	n, err := r.waitAt(b, offset)
	switch {
	case n == len(b):
		return nil
	case err == nil || errors.Is(err, io.EOF):
		return io.ErrUnexpectedEOF
	}
	return err
}

// waitAt is ReadAt of the file, which is waited for by package stuck, or by the file itself.
func (r *Reader) waitAt(b []byte, offset int64) (int, error) {
	if f, ok := r.file.(*stuck.File); ok {
		return f.ReadAt(b, offset)
	}
	defer stuck.On(r.cfg.Name)()
	return r.file.ReadAt(b, offset)
}

// readHeader reads the file header, and returns where the first block is. A file that
// ends within its header has no blocks, and all of it is cut.
func (r *Reader) readHeader() (begin int64, err error) {
	size := r.info.Bytes
	fixed := make([]byte, min(size, headerBytes))
	if err := r.readAt(fixed, 0); err != nil {
		return 0, r.readError(err)
	}
	if size < headerBytes {
		if n := min(len(fixed), len(magic)); !strings.HasPrefix(magic, string(fixed[:n])) {
			return 0, r.readError(notRecording(fixed))
		}
		r.end, r.info.Cut, r.info.HeaderCut = 0, size, true
		return size, nil
	}
	f, err := r.info.readFixed(fixed)
	switch {
	case errors.Is(err, ErrNotRecording), errors.Is(err, ErrVersion):
		return 0, r.readError(err)
	case err != nil:
		return 0, &DamageError{File: r.cfg.Name, Block: -1, Err: err}
	case int64(f.fields) > size-headerBytes:
		r.end, r.info.Cut, r.info.HeaderCut = 0, size, true
		return size, nil
	}
	fields := make([]byte, f.fields)
	if err := r.readAt(fields, headerBytes); err != nil {
		return 0, r.readError(err)
	}
	if checksum(0, fields) != f.checksum {
		err = ErrChecksum
	} else {
		err = r.info.readFields(fields)
	}
	if err != nil { // the blocks can be read without it
		r.info.HeaderDamage = &DamageError{File: r.cfg.Name, Offset: headerBytes, Block: -1, Err: err}
		r.info.Header = Header{ID: r.info.ID, Part: r.info.Part}
	}
	return headerBytes + int64(f.fields), nil
}

// sum fills in what the blocks together are.
func (r *Reader) sum() {
	first, last := int64(math.MaxInt64), int64(math.MinInt64)
	latest := last // since the clock was set last
	for i := range r.blocks {
		b := &r.blocks[i]
		r.info.Messages += uint64(b.messages)
		r.info.Events += uint64(b.events)
		if i > 0 && b.first < last && uint64(last)-uint64(b.first) > uint64(leastStep) {
			r.info.ClockBack = max(r.info.ClockBack, time.Duration(min(uint64(last)-uint64(b.first), math.MaxInt64)))
		}
		if latest = max(latest, b.last); i > 0 && b.last < latest && uint64(latest)-uint64(b.last) > uint64(leastStep) {
			r.info.ClockBacks++
			latest = b.last
		}
		first, last = min(first, b.first), max(last, b.last)
	}
	r.info.BeingWritten = r.cfg.BeingWritten && !r.info.Indexed
	r.info.Blocks = len(r.blocks)
	if r.info.Blocks > 0 {
		r.info.First, r.info.Last = timeOf(first), timeOf(last)
	}
}
