// SPDX-License-Identifier: Apache-2.0

package record_test

import (
	"encoding/binary"
	"errors"
	"hash/crc32"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"

	"tagbus/bridge/record"
	"tagbus/bus"
	"tagbus/internal/testkit"
)

// change returns a copy of a record with other bytes, and the checksum that fits.
func change(b []byte, how func([]byte) []byte) []byte {
	b = how(slices.Clone(b))
	table := crc32.MakeTable(crc32.Castagnoli)
	if len(b) >= 12 {
		binary.LittleEndian.PutUint32(b[8:], crc32.Update(crc32.Checksum(b[:8], table), table, b[12:]))
	}
	return b
}

// set returns a change of one byte.
func set(at int, to byte) func([]byte) []byte {
	return func(b []byte) []byte { b[at] = to; return b }
}

// TestParse_namesWhatIsWrong with the position.
func TestParse_namesWhatIsWrong(t *testing.T) {
	_, all := golden()
	begin, one, lost, end := all[0], all[1], all[3], all[4]
	body := len(begin)
	flipped := slices.Clone(one)
	flipped[len(flipped)-1] ^= 1
	tests := []struct {
		name   string
		b      []byte
		offset int
		want   error
		text   string
	}{
		{"nothing", nil, 0, record.ErrNotRecord, "not a record of a bridge"},
		{"text of another program", []byte(strings.Repeat("hello", 20)), 0, record.ErrNotRecord, "one of its own"},
		{"a newer version", set(4, 2)(slices.Clone(one)), 4, record.ErrVersion, "version 2"},
		{"a bit is wrong", flipped, 8, record.ErrChecksum, ""},
		{"the end is missing", one[:len(one)-1], 8, record.ErrChecksum, ""},
		{"a new kind", change(begin, set(5, 9)), 5, record.ErrVersion, "kind 9"},
		{"no messages", change(one, set(12, 0)), 12, record.ErrMalformed, "0 messages"},
		{"messages in a mark", change(begin, set(12, 1)), 12, record.ErrMalformed, "1 messages"},
		{"too many messages", change(one, set(12, 2)), len(one), record.ErrMalformed, "missing"},
		{"the counter is 0", change(begin, set(24, 0)), 24, record.ErrMalformed, "counter is 0"},
		{"the counter is too large", change(begin, set(31, 0x80)), 24, record.ErrMalformed, "counter"},
		{"counters overflow", change(one, func(b []byte) []byte {
			binary.LittleEndian.PutUint64(b[24:], 1<<63-1)
			return b
		}), 24, record.ErrMalformed, "exceed"},
		{"no instance", change(begin, func(b []byte) []byte { return append(b[:40], 0, 0, 0, 0, 0) }), 40, record.ErrMalformed, "no instance"},
		{"an address of 3 bytes", change(begin, func(b []byte) []byte { return append(b[:40], 1, 'x', 0, 0, 0, 3, 1, 2, 3) }), 45, record.ErrMalformed, "address"},
		{"a process beyond all", change(begin, func(b []byte) []byte { return append(b[:40], 1, 'x', 0, 0, 0xff, 0xff, 0xff, 0xff, 0xff, 1, 0) }), 44, record.ErrMalformed, "process"},
		{"a text beyond the end", change(begin, func(b []byte) []byte { return append(b[:40], 0xff, 1, 'x') }), 42, record.ErrMalformed, "missing"},
		{"a number without end", change(begin, func(b []byte) []byte { return append(b[:40], 0x80) }), 40, record.ErrMalformed, "number"},
		{"more behind a mark", change(begin, func(b []byte) []byte { return append(b, 0) }), body, record.ErrMalformed, "behind the end"},
		{"unknown flags", change(one, set(body, 8)), body, record.ErrMalformed, "flags"},
		{"a loss of nothing", change(lost, func(b []byte) []byte { return append(b[:body], 0, 0, 0) }), body, record.ErrMalformed, "nothing"},
		{"causes of more than is lost", change(lost, func(b []byte) []byte { return append(b[:body], 2, 1, 0, 3, 0) }), body + 2, record.ErrMalformed, "causes"},
		{"too many causes", change(lost, func(b []byte) []byte { return append(b[:body], 2, 0x81, 2) }), body + 1, record.ErrMalformed, "causes"},
		{"an end of a new kind", change(end, set(body, 77)), body, record.ErrVersion, "end 77"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			r, err := record.Parse(test.b)
			var format *record.FormatError
			if r != nil || !errors.As(err, &format) || !errors.Is(err, test.want) || format.Offset != test.offset || !strings.Contains(err.Error(), test.text) {
				t.Errorf("got %v, %v, want %v at byte %d with %q", r, err, test.want, test.offset, test.text)
			}
		})
	}
}

// TestParse_noCutRecordIsRead wherever it was cut, even if the checksum fits.
func TestParse_noCutRecordIsRead(t *testing.T) {
	_, all := golden()
	for _, b := range all {
		for n := range len(b) {
			if r, err := record.Parse(change(b, func(b []byte) []byte { return b[:n] })); err == nil {
				t.Fatalf("got %v from %d of %d bytes", r, n, len(b))
			}
		}
	}
}

// TestRecord_From_hasTheRest of the messages, as they were.
func TestRecord_From_hasTheRest(t *testing.T) {
	_, all := golden()
	whole := parse(t, all[2])
	rest := parse(t, whole.From(8))
	if rest.First != 8 || rest.Next() != 10 || *rest.Peer != *alice {
		t.Errorf("got %v", rest)
	}
	var got, want []string
	for m := range rest.Messages() {
		got = append(got, m.Time.String()+string(m.Data)+m.RequestID().String())
	}
	for m := range whole.Messages() {
		want = append(want, m.Time.String()+string(m.Data)+m.RequestID().String())
	}
	if !slices.Equal(got, want[1:]) {
		t.Errorf("got %q, want %q", got, want[1:])
	}
}

// TestChain_Follow says what is new of each record.
func TestChain_Follow(t *testing.T) {
	of := func(kind record.Kind, first, count uint64) *record.Record {
		return &record.Record{Kind: kind, First: first, Count: count}
	}
	var c record.Chain
	for i, step := range []struct {
		r          *record.Record
		from, hole uint64
		next       uint64
	}{
		{of(record.Begin, 5, 0), 5, 0, 5},
		{of(record.Messages, 5, 3), 5, 0, 8},
		{of(record.Messages, 5, 3), 8, 0, 8},  // again
		{of(record.Messages, 6, 4), 8, 0, 10}, // cut in another way
		{of(record.Lost, 10, 2), 10, 0, 12},
		{of(record.Messages, 15, 1), 15, 3, 16},
		{of(record.End, 16, 0), 16, 0, 16},
	} {
		if from, hole := c.Follow(step.r); from != step.from || hole != step.hole || c.Next() != step.next {
			t.Errorf("step %d: got new from %d, a hole of %d, next %d, want %d, %d, %d", i, from, hole, c.Next(), step.from, step.hole, step.next)
		}
	}
}

// TestRecord_String is one line of printable characters, whatever the record has.
func TestRecord_String(t *testing.T) {
	hostile := "x\x1b[2J\nall is well\r\x00\u202e\x9b"
	r := record.Record{
		Kind: record.Lost, Peer: &bus.Peer{Instance: hostile, Name: hostile, Host: hostile}, First: 3, Count: 4, Text: hostile,
		Causes: []record.Share{{Cause: record.CauseAway, Count: 2}, {Cause: 99, Count: 1}},
	}
	unknown := record.Record{Kind: 77, How: 88}
	for _, s := range []string{r.String(), unknown.String(), (&record.FormatError{Err: errors.New(hostile)}).Error(), record.How(88).String(), record.Stopped.String()} {
		if i := strings.IndexFunc(s, func(c rune) bool { return !unicode.IsPrint(c) }); i >= 0 || s == "" {
			t.Errorf("got %q", s)
		}
	}
	if got := r.String(); !strings.Contains(got, "lost of tag") || !strings.Contains(got, "3 to 6, 2 away, 1 cause 99") {
		t.Errorf("got %q", got)
	}
}

// TestOverhead is never less than what a record takes.
func TestOverhead(t *testing.T) {
	m := message(1, "data")
	m.Status = 1
	m = m.WithRequestID(bus.RequestIDOf([16]byte{1}))
	var b record.Batch
	b.Begin(nil, start, &m)
	b.Add(start.Add(1000*time.Hour), &m)
	if got, most := b.Bytes(), record.Overhead(alice)+record.MaxMessageBytes+len(m.Data); got > most {
		t.Errorf("got %d bytes, want at most %d", got, most)
	}
}

// TestBatch_Add_allocatesNothing once there is memory.
func TestBatch_Add_allocatesNothing(t *testing.T) {
	if testkit.Race {
		t.Skip("the race detector allocates")
	}
	m := message(1, "data")
	memory := make([]byte, 0, 1<<20)
	if n := testing.AllocsPerRun(100, func() {
		var b record.Batch
		b.Begin(memory, start, &m)
		for range 100 {
			b.Add(start, &m)
		}
		_ = b.Seal()
	}); n != 0 {
		t.Errorf("got %v allocations, want none", n)
	}
}

// FuzzParse: what is read can be written, and is the same then.
func FuzzParse(f *testing.F) {
	_, all := golden()
	for _, b := range all {
		f.Add(b, true)
	}
	f.Fuzz(func(t *testing.T, b []byte, fits bool) {
		if fits {
			b = change(b, func(b []byte) []byte { return b })
		}
		r, err := record.Parse(b)
		if err != nil {
			var format *record.FormatError
			if !errors.As(err, &format) || format.Offset < 0 || format.Offset > len(b) {
				t.Fatalf("got %v for %d bytes", err, len(b))
			}
			return
		}
		n := uint64(0)
		for m := range r.Messages() {
			if m.Counter != r.First+n || m.Publisher != r.Peer {
				t.Fatalf("got message %d of %v at %d", m.Counter, m.Publisher, n)
			}
			n++
		}
		if r.Kind == record.Messages && n != r.Count {
			t.Fatalf("got %d messages of %v", n, r)
		}
		again, err := record.Parse(record.Append(nil, r))
		if err != nil || again.String() != r.String() || again.Kind != r.Kind || !again.Time.Equal(r.Time) {
			t.Fatalf("got %v, %v, want %v", again, err, r)
		}
	})
}
