// SPDX-License-Identifier: Apache-2.0

package durable

import (
	"context"
	"iter"
	"time"

	"tagbus/tags"
)

// Key names a chain of records.
type Key struct {
	Tag      tags.Tag
	Instance string // of the publisher
}

// Position is the place of a record in a log, by the numbers of the engine. They grow along each key.
// Zero stands for no record.
type Position uint64

// Entry is a record in a log.
type Entry struct {
	Key      Key
	Part     string // of the log, along which positions grow: a partition, by name, or which log of the name; "" where there is nothing to tell apart
	Position Position
	Time     time.Time // when the engine has stored it
	Data     []byte    // nil: there is none. It belongs to the caller
}

// Append is a record to be appended.
type Append struct {
	Key   Key
	After Position // of the last record of the key; zero: there is none
	ID    string   // the same for the same record only, printable ASCII without blanks
	Data  []byte   // at most Log.MaxRecordBytes. Unchanged until Done is called

	// Done is called once, on any goroutine, also before Append returns. It must not block.
	//
	//   - at: of the record, which the engine has stored, as safely as the log is configured.
	//   - err: ErrConflict, ErrRefused, or another error: then the record is stored or not, and
	//     may still become so.
	Done func(at Position, err error)
}

// Start is where a reader begins. The zero value is the beginning of the log.
type Start struct {
	After Position  // the first record behind this one; zero: Time decides
	Time  time.Time // the first record that was stored then or later; zero: the first of all

	// Behind has the last record of each Part that is not read any more. After and Time are about parts that are not in it.
	Behind map[string]Position
}

// End is where a reader ends. The zero value is the end of the log.
type End struct {
	Before Position  // the first record that is not read; zero: Time decides
	Time   time.Time // the first record that was stored then or later is not read; zero: all are
}

// Reached reports whether a record is at the end or behind it.
func (e End) Reached(at Position, stored time.Time) bool {
	return e.Before > 0 && at >= e.Before || !e.Time.IsZero() && !stored.Before(e.Time)
}

// Query says what to read of a log.
type Query struct {
	Tags   tags.Set // of the keys; empty: all
	Start  Start
	End    End
	Follow bool // goes on with what is appended later, until the End or that of the context
}

// Log is a log of one engine, by one bridge.
//
// Threads: any, for all methods.
type Log interface {
	// Name returns what errors and people call the log.
	Name() string

	// MaxRecordBytes returns how many bytes Append.Data may have.
	MaxRecordBytes() int

	// Append begins to append a record. The caller bounds how many are on their way: an engine takes all.
	//
	// Blocks: never for the engine; shortly to hand bytes to the system.
	Append(Append)

	// Last returns the last record of a key; an Entry without Data if there is none.
	//
	//   - Errors: ErrRefused, or that of the engine; the cause of the end of ctx.
	//   - Blocks: for the answer.
	Last(ctx context.Context, key Key) (Entry, error)

	// Tails yields the last record of each key whose tag is in a set, in any order, and stops after
	// an error. Records that are appended meanwhile are seen or not.
	//
	//   - Errors: as Last.
	Tails(ctx context.Context, set tags.Set) iter.Seq2[Entry, error]

	// Read yields the records of a Query in the order of each key, and stops after an error. Without
	// Follow it ends behind the record that was the last one at the beginning.
	//
	//   - Errors: as Last; a *GapError for a start that the log no longer has; ErrRefused for a Behind of which it has never had
	//     the record.
	Read(ctx context.Context, q Query) iter.Seq2[Entry, error]

	// Close ends the log: each Append that is on its way is done with an error. A second call does
	// nothing.
	Close() error
}
