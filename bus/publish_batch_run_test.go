// SPDX-License-Identifier: Apache-2.0

package bus

import (
	"bytes"
	"math"
	"testing"

	"pgregory.net/rapid"

	"tagbus/bus/internal/wire"
	"tagbus/bus/internal/wire/wiretest"
	"tagbus/tags"
)

// messageGenerator returns messages of few tags, so that some follow one of theirs.
func messageGenerator() *rapid.Generator[[]Message] {
	return rapid.SliceOf(rapid.Custom(func(t *rapid.T) Message {
		return Message{
			Tag:    tags.Tag(rapid.SampledFrom([]uint64{0, 1, 0x1000013000118000, math.MaxUint64}).Draw(t, "tag")),
			Status: Status(rapid.SampledFrom([]uint8{0, 0, 1, 255}).Draw(t, "status")),
			Data:   rapid.SliceOfN(rapid.Byte(), 0, minPageBytes-wire.HeaderBytes-wire.MaxOverhead).Draw(t, "data"),
		}
	}))
}

// A run of messages makes the page that the messages make one by one, and ends at its
// limit.
func TestPublisher_PublishBatch_aRunMakesTheSamePage(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		size := rapid.IntRange(minPageBytes, 2048).Draw(t, "size")
		asRows := rapid.Bool().Draw(t, "rows")
		messages := messageGenerator().Draw(t, "messages")
		limit, budget := rapid.IntRange(0, 250).Draw(t, "limit"), rapid.IntRange(0, 1000).Draw(t, "budget")
		var runs, single wire.Writer
		runs.Positions = rapid.Bool().Draw(t, "positions")
		single.Positions = runs.Positions
		runs.Reset(make([]byte, size))
		single.Reset(make([]byte, size))
		for i := 0; i < len(messages); {
			before := len(runs.Mem)
			n, sizes := appendOf(asRows, &runs, messages[i:], limit, budget)
			if grown := len(runs.Mem) - before; grown != sizes+n*wire.PlainBytes || grown > budget+limit+wire.PlainBytes {
				t.Fatalf("%d messages of %d bytes with a budget of %d: the page grows by %d", n, sizes, budget, grown)
			}
			for _, m := range messages[i : i+n] {
				if len(m.Data) > limit || !single.Append(m.Tag, wire.Status(m.Status), 0, m.Data) {
					t.Fatalf("a run has a message of %d bytes: the limit is %d, and the page full at %d", len(m.Data), limit, len(single.Mem))
				}
			}
			if i += n; i == len(messages) {
				break
			}
			m := messages[i]
			if !runs.Append(m.Tag, wire.Status(m.Status), 0, m.Data) {
				break
			}
			single.Append(m.Tag, wire.Status(m.Status), 0, m.Data)
			i++
		}
		if !bytes.Equal(wiretest.Sent(&runs, 0), wiretest.Sent(&single, 0)) {
			t.Errorf("got page %x, want %x", wiretest.Sent(&runs, 0), wiretest.Sent(&single, 0))
		}
	})
}

// appendOf is appendRun, or appendRows with rows of the messages.
func appendOf(asRows bool, w *wire.Writer, messages []Message, limit, budget int) (n, bytes int) {
	if asRows {
		return appendRows(w, RowsOf(messages), limit, budget)
	}
	return appendRun(w, messages, limit, budget)
}
