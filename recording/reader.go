// SPDX-License-Identifier: Apache-2.0

package recording

import (
	"errors"
	"io"
	"iter"
	"time"

	"tagbus/bus"
	"tagbus/tags"
)

// Message is a message of a recording: as its subscriber has received it, with the time.
// It can be given to a bus.Handler as it is:
//
//	handler(m.Message)
//
// Publisher is the same pointer for all messages of one publisher that a Reader, or all of
// one OpenAll, yield. Data is valid until the next step of the iteration; Retain copies it.
type Message struct {
	bus.Message
	Time time.Time // when it was received
}

// Record is a message or an event.
type Record struct {
	Message        // the zero value for an event
	Event   *Event // nil for a message
}

// Query selects records. The zero value selects all.
type Query struct {
	// Tags selects the messages of these tags, and the events that concern one of them
	// or no tag at all. Empty: all tags.
	Tags tags.Set

	// From and To select the records whose time is at least From and before To. Zero: no
	// limit.
	From, To time.Time

	// Publisher selects what comes from the publishers with this instance or name, and
	// the Stopped events. Empty: all publishers.
	Publisher string
}

// Info says what a file has, and how it was opened.
type Info struct {
	Header
	File     string // as errors call it
	Bytes    int64  // of the file
	Blocks   int
	Messages uint64
	Events   uint64
	First    time.Time // the earliest time of a record; zero: there is none
	Last     time.Time // the latest time of a record; zero: there is none

	// Indexed reports whether the file has its index. Otherwise its writer has not closed
	// it, and it was opened by a walk over its blocks.
	Indexed bool

	// Continues reports whether another part follows. It is known only with an index.
	Continues bool

	// Cut is how many bytes at the end are not a complete block: the one that was being
	// written when the writer was killed.
	Cut int64

	// Skipped is how many bytes a walk found between blocks that are no block: a
	// damaged header has hidden one.
	Skipped int64
}

// Reader reads one file: a recording or a part of it.
//
// A file that was cut off anywhere opens after a walk over its blocks; at most the block
// that was being written is missing. Memory is bounded for any file: see
// ReaderConfig.MaxBlockBytes. Only the blocks that a query needs are read, and only those
// that have its tags are decompressed.
//
// Threads: any. Each iteration has its own memory.
type Reader struct {
	info Info
}

// Open opens a file, by its index or by a walk.
//
// Errors: those of opening and reading the file; ErrNotRecording and ErrVersion, wrapped
// with its name; a *DamageError if the file header is damaged.
func Open(path string) (*Reader, error) { return nil, errors.ErrUnsupported }

// NewReader is Open for bytes that lie elsewhere.
//
//   - r: is used until the last iteration has ended. Close does not close it.
//   - size: of the recording, in bytes.
//
// Errors: those of ReaderConfig.Validate; otherwise as Open.
func NewReader(r io.ReaderAt, size int64, cfg ReaderConfig) (*Reader, error) {
	return nil, errors.ErrUnsupported
}

// Info returns what is in the file, as the index or the walk has it.
func (r *Reader) Info() Info { return r.info }

// Messages iterates over the messages that a query selects, in the order in which they
// were recorded. Their times are those of the recorder's clock, which may have been set
// back.
//
// A block that cannot be read is a *DamageError. A loop that goes on after it gets the
// messages behind that block.
//
//   - Threads: any; each iteration is one goroutine's.
func (r *Reader) Messages(q Query) iter.Seq2[Message, error] {
	return Readers{r}.Messages(q)
}

// Records is Messages with the events, each in its place.
func (r *Reader) Records(q Query) iter.Seq2[Record, error] { return Readers{r}.Records(q) }

// Series is what a recording has of one tag from one publisher.
type Series struct {
	Publisher *bus.Peer
	Tag       tags.Tag
	Messages  uint64
	Bytes     uint64 // of data
	First     time.Time
	Last      time.Time // First and Last are those of the blocks that have messages of it
}

// Series returns what there is of each tag and publisher, ordered by publisher and tag. It
// reads the tables of the blocks and no messages.
//
// Errors: a *DamageError for each block whose table cannot be read, joined; the rest is
// there.
func (r *Reader) Series() ([]Series, error) { return nil, errors.ErrUnsupported }

// Close closes the file that Open has opened. Iterations must have ended.
func (r *Reader) Close() error { return nil }

// Readers are files that are read together, as OpenAll returns them.
type Readers []*Reader

// OpenAll opens files. After an error none is open.
//
// Errors: as Open.
func OpenAll(paths ...string) (Readers, error) { return nil, errors.ErrUnsupported }

// Messages is Reader.Messages over all files: in the order of time where the files belong
// to different recordings. The parts of one recording follow each other in the order of
// their numbers, and the order within a part is kept.
func (rs Readers) Messages(q Query) iter.Seq2[Message, error] { return nil }

// Records is Messages with the events, each in its place.
func (rs Readers) Records(q Query) iter.Seq2[Record, error] { return nil }

// Recordings groups the files by the recording to which they belong, each in the order of
// the parts. The recordings are in the order of their first files.
func (rs Readers) Recordings() []Readers { return nil }

// Close closes all files.
//
// Errors: those of closing, joined.
func (rs Readers) Close() error { return nil }
