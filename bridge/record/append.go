// SPDX-License-Identifier: Apache-2.0

package record

import (
	"encoding/binary"
	"fmt"
	"strings"

	"tagbus/internal/sanitize"
)

// Append appends a record to b. A Messages record is one of Parse; Batch makes others.
//
//   - r: with an instance of its Peer, and a time in the years 1678 to 2261. Lost: with a Count.
func Append(b []byte, r *Record) []byte {
	from := len(b)
	b = appendHead(b, r.Kind, r.Peer, uint64(r.Tag), r.First, r.Time)
	switch r.Kind {
	case Messages:
		binary.LittleEndian.PutUint32(b[from+messagesAt:], uint32(r.Count))
		b = append(b, r.body...)
	case Lost:
		b = binary.AppendUvarint(b, r.Count)
		b = binary.AppendUvarint(b, uint64(len(r.Causes)))
		for _, s := range r.Causes {
			b = binary.AppendUvarint(append(b, byte(s.Cause)), s.Count)
		}
		b = appendText(b, r.Text)
	case Begin:
	case End:
		b = appendText(append(b, byte(r.How)), r.Text)
	}
	seal(b[from:])
	return b
}

// From returns the record of the messages of r that have a counter from first on, as Append has it.
//
//   - first: one that r covers.
func (r *Record) From(first uint64) []byte {
	var batch Batch
	for m := range r.Messages() {
		if m.Counter < first {
			continue
		}
		if m.Counter == first {
			batch.Begin(nil, m.Time, &m.Message)
		}
		batch.Add(m.Time, &m.Message)
	}
	return batch.Seal()
}

// line returns a record as a line for people.
func line(r *Record) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%v of tag %v", r.Kind, r.Tag)
	if r.Peer != nil {
		fmt.Fprintf(&b, " from %v", r.Peer)
	}
	if r.Count == 0 {
		fmt.Fprintf(&b, " at %d", r.First)
	} else {
		fmt.Fprintf(&b, " %d to %d", r.First, r.Next()-1)
	}
	for _, s := range r.Causes {
		fmt.Fprintf(&b, ", %d %v", s.Count, s.Cause)
	}
	if r.Kind == End {
		fmt.Fprintf(&b, ", %v", r.How)
	}
	if r.Text != "" {
		fmt.Fprintf(&b, ": %s", r.Text)
	}
	return sanitize.Line(b.String())
}
