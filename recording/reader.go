// SPDX-License-Identifier: Apache-2.0

package recording

import (
	"fmt"
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
// Publisher is the same pointer for all messages of one publisher that a Reader, all of one OpenAll, or an
// iteration over several yield, while they have at most 65,536 publishers. Data is valid until the next step of the iteration; Retain copies it.
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
	// the Stopped and Stepped events. Empty: all publishers.
	Publisher string

	// EventsOnly selects no messages. Blocks without events are not read, so that it is
	// fast for a file of any size.
	EventsOnly bool
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
	// it, or its index is damaged, and it was opened by a walk over its blocks.
	Indexed bool

	// IndexDamaged reports whether the writer has closed the file, with all its blocks, and
	// its index cannot be read.
	IndexDamaged bool

	// Repaired reports whether the index is one of Reader.Repair: the writer has not
	// closed the file, or IndexLost is true.
	Repaired bool

	// IndexLost reports, of a file that is Repaired, that all its blocks are there: its index was
	// damaged, and the footer. Whether another part follows is not known.
	IndexLost bool

	// Continues reports whether another part follows. It is known only with an index.
	Continues bool

	// HeaderDamage says what is wrong with the fields of the file header; nil: nothing.
	// Header has only ID and Part then.
	HeaderDamage error

	// Cut is how many bytes at the end are not a complete block: the one that was being
	// written when the writer was killed.
	Cut int64

	// HeaderCut reports whether the file ends within its header, so that nothing is in it.
	HeaderCut bool

	// BeingWritten reports whether a recorder has the file open, and has not ended it: it
	// has more soon. It is known only for files that Open opens, or by
	// ReaderConfig.BeingWritten.
	BeingWritten bool

	// ClockBack is how far times go back between two blocks, at most; 0: no more than a
	// second. The clock of the recorder was set back there. Within a block it is not seen
	// without reading it: see Stepped.
	ClockBack time.Duration

	// ClockBacks is how often they do.
	ClockBacks uint64

	// Skipped is how many bytes a walk found between blocks that are no block: a
	// damaged header has hidden one.
	Skipped int64
}

// Unfinished returns why the file does not have all that its recorder recorded in it, as what
// is said behind its name; "": it has.
func (i *Info) Unfinished() string {
	switch {
	case i.HeaderCut && i.BeingWritten:
		return "is being written now, and nothing is in it yet"
	case i.HeaderCut:
		return "ends within its header: nothing is in it"
	case i.IndexLost:
		return "had a damaged index, and is repaired: all its blocks are there, and whether another part follows is not known"
	case i.Repaired:
		return "was not closed, and is repaired: the last block of its recorder is missing, and others may be"
	case i.Indexed:
		return ""
	case i.BeingWritten:
		return "is being written now: what its recorder writes from here on is missing"
	}
	if i.IndexDamaged {
		return fmt.Sprintf("was closed, and its index is damaged: %s behind the last block cannot be read", count(uint64(i.Cut), "byte", "bytes"))
	}
	why := "was not closed: the last block of its recorder is missing"
	if i.Cut > 0 {
		why += fmt.Sprintf(" (%s behind the last complete one)", count(uint64(i.Cut), "byte", "bytes"))
	}
	return why
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
	file   io.ReaderAt
	closer io.Closer // nil: not ours
	cfg    ReaderConfig
	info   Info
	seed   uint32     // of the checksums
	end    int64      // of the last block
	blocks []blockRef // in their order
	peers  *peers
	free   int64 // work of an iteration that its bytes need not be worth
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
func (r *Reader) Messages(q Query) iter.Seq2[Message, error] { return Readers{r}.Messages(q) }

// Records is Messages with the events, each in its place.
func (r *Reader) Records(q Query) iter.Seq2[Record, error] { return Readers{r}.Records(q) }

// Close closes the file that Open has opened. Iterations must have ended.
//
// Errors: those of closing.
func (r *Reader) Close() error {
	if r.closer == nil {
		return nil
	}
	return r.closer.Close()
}
