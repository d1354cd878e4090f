// SPDX-License-Identifier: Apache-2.0

package recording

import (
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"strings"

	"tagbus/internal/plain"
)

// blockRef is a block of a file, as the index or its header has it.
type blockRef struct {
	offset           int64
	first, last      int64
	messages, events uint32
}

// Open opens a file, by its index or by a walk.
//
// Errors: those of opening and reading the file; ErrNotRecording and ErrVersion, wrapped
// with its name; a *DamageError if the file header is damaged.
func Open(path string) (*Reader, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("recording: %w", err)
	}
	info, err := file.Stat()
	if err != nil {
		_ = file.Close()
		return nil, fmt.Errorf("recording: %w", err)
	}
	r, err := NewReader(file, info.Size(), ReaderConfig{Name: path})
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
// Errors: those of ReaderConfig.Validate; otherwise as Open.
func NewReader(file io.ReaderAt, size int64, cfg ReaderConfig) (*Reader, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	r := &Reader{file: file, cfg: cfg.withDefaults(), end: size, peers: newPeers()}
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

// errNoIndex says that a file is to be walked.
var errNoIndex = errors.New("no index")

// readError names the file of an error of reading.
func (r *Reader) readError(err error) error {
	return fmt.Errorf("recording: read %s: %w", plain.Text(r.cfg.Name), err)
}

// readAt fills b.
//
// Errors: those of the file; io.ErrUnexpectedEOF if it is shorter.
func (r *Reader) readAt(b []byte, offset int64) error {
	n, err := r.file.ReadAt(b, offset)
	switch {
	case n == len(b):
		return nil
	case err == nil || errors.Is(err, io.EOF):
		return io.ErrUnexpectedEOF
	}
	return err
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
			return 0, r.readError(ErrNotRecording)
		}
		r.end, r.info.Cut = 0, size
		return size, nil
	}
	f, err := r.info.readFixed(fixed)
	switch {
	case errors.Is(err, ErrNotRecording), errors.Is(err, ErrVersion):
		return 0, r.readError(err)
	case err != nil:
		return 0, &DamageError{File: r.cfg.Name, Block: -1, Err: err}
	case int64(f.fields) > size-headerBytes:
		r.end, r.info.Cut = 0, size
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
	for i := range r.blocks {
		b := &r.blocks[i]
		r.info.Messages += uint64(b.messages)
		r.info.Events += uint64(b.events)
		first, last = min(first, b.first), max(last, b.last)
	}
	r.info.Blocks = len(r.blocks)
	if r.info.Blocks > 0 {
		r.info.First, r.info.Last = timeOf(first), timeOf(last)
	}
}
