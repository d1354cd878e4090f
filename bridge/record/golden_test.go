// SPDX-License-Identifier: Apache-2.0

package record_test

import (
	"bytes"
	"encoding/hex"
	"net/netip"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"tagbus/bridge/record"
	"tagbus/bus"
	"tagbus/tags"
)

var (
	start = time.Unix(1_700_000_000, 0)
	alice = &bus.Peer{Instance: "ALICE", Name: "readout", Host: "host1", PID: 4711, Addr: netip.MustParseAddrPort("10.0.0.1:40000")}
)

// message returns a message that came some nanoseconds after start.
func message(counter uint64, data string) bus.Message {
	return bus.Message{Tag: 0x1000, Counter: counter, Publisher: alice, Data: []byte(data)}
}

// batch returns the record of messages, of which the first came at start and each other one
// 5 ns later.
func batch(messages ...bus.Message) []byte {
	var b record.Batch
	b.Begin(nil, start, &messages[0])
	for i := range messages {
		b.Add(start.Add(time.Duration(min(i, 1))*5), &messages[i])
	}
	return b.Seal()
}

// mark returns a record without messages.
func mark(r record.Record) []byte {
	r.Peer, r.Tag, r.Time = alice, 0x1000, start
	return record.Append(nil, &r)
}

// golden is what testdata/records.hex has, with a name for each.
func golden() (names []string, records [][]byte) {
	status := message(8, "status")
	status.Status = 0xff
	request := message(9, "").WithRequestID(bus.RequestIDOf([16]byte([]byte("fedcba9876543210"))))
	return []string{"begin", "one message", "several messages", "lost", "end"}, [][]byte{
		mark(record.Record{Kind: record.Begin, First: 6}),
		batch(message(6, "alone")),
		batch(message(7, "first"), status, request),
		mark(record.Record{
			Kind: record.Lost, First: 10, Count: 300, Text: "why",
			Causes: []record.Share{{Cause: record.CauseFull, Count: 200}, {Cause: record.CauseAway, Count: 50}},
		}),
		mark(record.Record{Kind: record.End, First: 310, How: record.Failed, Text: "disk full"}),
	}
}

// unhex returns the records of a file of hexadecimal digits. An empty line ends a record, and in each line what
// follows a # is a comment.
func unhex(tb testing.TB, name string) (records [][]byte) {
	tb.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		tb.Fatal(err)
	}
	for block := range strings.SplitSeq(string(text), "\n\n") {
		var b []byte
		for line := range strings.Lines(block) {
			digits, _, _ := strings.Cut(line, "#")
			part, err := hex.DecodeString(strings.Join(strings.Fields(digits), ""))
			if err != nil {
				tb.Fatal(err)
			}
			b = append(b, part...)
		}
		if len(b) > 0 {
			records = append(records, b)
		}
	}
	return records
}

// TestParse_theFormatIsThatOfTheGoldenFile in both directions.
func TestParse_theFormatIsThatOfTheGoldenFile(t *testing.T) {
	names, want := golden()
	got := unhex(t, "testdata/records.hex")
	if len(got) != len(want) {
		t.Fatalf("the file has %d records, want %d", len(got), len(want))
	}
	for i, b := range got {
		if !bytes.Equal(b, want[i]) {
			t.Errorf("%s is written as\n%s", names[i], hex.Dump(want[i]))
		}
		r, err := record.Parse(b)
		if err != nil {
			t.Errorf("%s: got %v, want a record", names[i], err)
			continue
		}
		if again := record.Append(nil, r); !bytes.Equal(again, b) {
			t.Errorf("%s becomes\n%s", names[i], hex.Dump(again))
		}
	}
}

// TestRecord_hasWhatWasWritten of each field.
func TestRecord_hasWhatWasWritten(t *testing.T) {
	_, all := golden()
	several := parse(t, all[2])
	if several.Kind != record.Messages || several.Tag != tags.Tag(0x1000) || several.First != 7 || several.Next() != 10 || !several.Time.Equal(start) {
		t.Errorf("got %v", several)
	}
	if *several.Peer != *alice {
		t.Errorf("got the publisher %+v, want %+v", *several.Peer, *alice)
	}
	type row struct {
		counter uint64
		status  bus.Status
		id      string
		after   time.Duration
		data    string
	}
	var got []row
	for m := range several.Messages() {
		got = append(got, row{m.Counter, m.Status, m.RequestID().String(), m.Time.Sub(start), string(m.Data)})
	}
	want := []row{{7, 0, "none", 0, "first"}, {8, 0xff, "none", 5, "status"}, {9, 0, hex.EncodeToString([]byte("fedcba9876543210")), 5, ""}}
	if !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	lost := parse(t, all[3])
	if lost.Count != 300 || lost.Text != "why" || len(lost.Causes) != 2 || lost.Causes[1] != (record.Share{Cause: record.CauseAway, Count: 50}) {
		t.Errorf("got %+v", lost)
	}
	if end := parse(t, all[4]); end.How != record.Failed || end.Text != "disk full" || end.Next() != 310 {
		t.Errorf("got %+v", end)
	}
}

func parse(tb testing.TB, b []byte) *record.Record {
	tb.Helper()
	r, err := record.Parse(b)
	if err != nil {
		tb.Fatal(err)
	}
	return r
}
