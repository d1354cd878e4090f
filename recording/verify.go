// SPDX-License-Identifier: Apache-2.0

package recording

import (
	"errors"

	"tagbus/bus"
	"tagbus/tags"
)

// Report says whether a recording is whole, and what is missing if it is not.
type Report struct {
	Files      []FileReport
	Publishers []PublisherReport
	Series     []SeriesReport // ordered by publisher and tag
	Stopped    *Event         // of the recorder, the last; nil: it has not said why it ended

	// Reasons are why the recording is not whole, a line for each kind of reason. None: it
	// is whole.
	Reasons []string
}

// FileReport is what Verify found in one file.
type FileReport struct {
	Info
	Damage []*DamageError // the first 100 of the blocks that cannot be read
	Broken int            // number of the blocks that cannot be read
}

// PublisherReport is what became of one publisher.
type PublisherReport struct {
	Peer *bus.Peer // as it was seen last

	// State is the kind of its last event other than Gap and Position: Joined, Lost,
	// Ended or Vanished; 0: there was none.
	State  EventKind
	Failed bool   // Ended because something failed there
	Text   string // the reason of the last event
}

// SeriesReport is what became of the messages of one tag from one publisher.
type SeriesReport struct {
	Peer     *bus.Peer
	Tag      tags.Tag
	Messages uint64 // that are in the recording
	Bytes    uint64 // of data
	First    uint64 // smallest counter
	Last     uint64 // largest counter

	// Lost counts the messages that Gap events name, by cause.
	Lost Losses

	// Missing is how many counters have no message between the first and the last, or
	// behind the last Position.
	Missing uint64

	// Unexplained is how many of the missing messages no Gap names.
	Unexplained uint64

	// Repeated is how many messages have the counter of the one before.
	Repeated uint64

	// Backward is how many messages have a smaller counter than the one before.
	Backward uint64
}

// Losses counts messages by the cause of their loss.
type Losses [causes]uint64

// Lost returns the number of messages that are not left out on purpose.
func (l Losses) Lost() (n uint64) {
	for c, m := range l {
		if Cause(c) != CauseLeftOut {
			n += m
		}
	}
	return n
}

// Whole reports whether the recording has everything that its publishers published for it
// from its beginning to its end, except what the policy has left out on purpose.
func (r *Report) Whole() bool { return len(r.Reasons) == 0 }

// Verify reads all of a recording: it checks each checksum, and that the counters of each
// tag and publisher go on by one except where a Gap says so.
//
//   - files: the parts of one recording, in any order.
//
// Errors: ErrMixed; those of reading a file. Damage is in the report.
func Verify(files ...*Reader) (*Report, error) { return nil, errors.ErrUnsupported }

// String returns the report as lines for people: whole or not, why, and what is in it.
func (r *Report) String() string { return "" }
