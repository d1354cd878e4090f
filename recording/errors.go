// SPDX-License-Identifier: Apache-2.0

package recording

import (
	"errors"
	"fmt"

	"tagbus/internal/sanitize"
)

var (
	// ErrInvalidConfig is wrapped by every violation of a configuration.
	ErrInvalidConfig = errors.New("recording: invalid configuration")

	// ErrClosed is returned by every method of a closed Writer or BlockWriter.
	ErrClosed = errors.New("recording: closed")

	// ErrBlockFull is returned by a Builder for a message or event that finds no room in
	// a block of 2 GiB.
	ErrBlockFull = errors.New("recording: the block has no room for the record: seal the block first, and send less than 1 GiB in one message")

	// ErrEvent is returned for an event that is of none of the kinds.
	ErrEvent = errors.New("recording: event of unknown kind: use one of the kinds of this package")

	// ErrNotRecording is wrapped in the error of Open and NewReader for a file that
	// does not begin like a recording.
	ErrNotRecording = errors.New("not a recording")

	// ErrNotFile is wrapped in the error of Open and NewReader for a pipe or a device, which
	// has no size.
	ErrNotFile = errors.New("it is a pipe or a device: copy it to a file first")

	// ErrVersion is wrapped in the error of Open and NewReader for a recording of a newer
	// major version, and in a DamageError for what only a newer version can write.
	ErrVersion = errors.New("written by a newer version of tagbus: read it with that one")

	// ErrChecksum is wrapped in a DamageError: the bytes are not those that were
	// written.
	ErrChecksum = errors.New("checksum is wrong: the bytes are not those that were written")

	// ErrMalformed is wrapped in a DamageError: the checksum is right and the content
	// contradicts the format.
	ErrMalformed = errors.New("content contradicts the format")

	// ErrTooLarge is wrapped in a DamageError: a block is larger than
	// ReaderConfig.MaxBlockBytes.
	ErrTooLarge = errors.New("larger than the limit: raise ReaderConfig.MaxBlockBytes")

	// ErrExpanded is wrapped in a DamageError: a block decompresses to more than
	// ReaderConfig.MaxExpansion allows.
	ErrExpanded = errors.New("too much for so few bytes: if the file is not hostile, raise ReaderConfig.MaxExpansion")

	// ErrMixed is returned by Verify for files that are not parts of one recording.
	ErrMixed = errors.New("recording: the files belong to different recordings: verify each recording alone")
)

// DamageError says which part of a file cannot be read, and why. It is the error of an
// iteration for a damaged block, and that of Open for a damaged file header.
type DamageError struct {
	File   string // as Open has it; empty: not known
	Offset int64  // in the file, in bytes: that of the block
	Block  int    // number of the block from 0; -1: not a block
	Err    error  // wraps ErrChecksum, ErrMalformed, ErrTooLarge, ErrExpanded, ErrVersion, or an error of reading
}

// Error names the file, the place and the cause.
func (e *DamageError) Error() string {
	what := "file header"
	if e.Block >= 0 {
		what = fmt.Sprintf("block %d", e.Block)
	}
	file := ""
	if e.File != "" {
		file = sanitize.Text(e.File) + ": "
	}
	return sanitize.Linef("recording: %s%s at offset %d: %v", file, what, e.Offset, e.Err)
}

// Unwrap returns the cause.
func (e *DamageError) Unwrap() error { return e.Err }

// malformed returns an ErrMalformed that says what is wrong.
func malformed(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrMalformed, fmt.Sprintf(format, args...))
}
