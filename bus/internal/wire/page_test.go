// SPDX-License-Identifier: Apache-2.0

package wire_test

import (
	"bytes"
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tagbus/bus/internal/wire"
	"tagbus/bus/internal/wire/wiretest"
	"tagbus/tags"
)

func rec(tag tags.Tag, status uint8, data string) wiretest.Record {
	return wiretest.Record{Tag: tag, Status: status, Data: data}
}

// request is a record with the id of a request: 15 zeros and one byte.
func request(tag tags.Tag, status uint8, data string, id byte) wiretest.Record {
	return wiretest.Record{Tag: tag, Status: status, Data: data, ID: wire.ID{15: id}}
}

func TestPageBytes(t *testing.T) {
	const header1 = "01 00 0000 01000000"
	tests := []struct {
		name    string
		records []wiretest.Record
		want    string
	}{
		{"a message", []wiretest.Record{rec(5, 0, "abc")}, header1 + "03000080 0500000000000000 616263"},
		{"an empty message", []wiretest.Record{rec(5, 0, "")}, header1 + "00000080 0500000000000000"},
		{"an empty message of tag 0", []wiretest.Record{rec(0, 0, "")}, header1 + "00000080 0000000000000000"},
		{"a status", []wiretest.Record{rec(5, 0x80, "a")}, header1 + "010000c0 80 0500000000000000 61"},
		{"a detector's tag", []wiretest.Record{rec(0x1000013000118000, 0, "a")}, header1 + "01000080 0080110030010010 61"},
		{
			"a tag is written once for messages in a row",
			[]wiretest.Record{rec(5, 0, "a"), rec(5, 0, ""), rec(5, 0, "bc")},
			"01 00 0000 03000000  01000080 0500000000000000 61  00000000  02000000 6263",
		},
		{
			"a status without a tag",
			[]wiretest.Record{rec(5, 0, "a"), rec(5, 7, "b"), rec(5, 0, "c")},
			"01 00 0000 03000000  01000080 0500000000000000 61  01000040 07 62  01000000 63",
		},
		{
			"a tag that changes and comes back",
			[]wiretest.Record{rec(5, 0, "a"), rec(6, 255, "b"), rec(5, 0, "c")},
			"01 00 0000 03000000  01000080 0500000000000000 61  010000c0 ff 0600000000000000 62  01000080 0500000000000000 63",
		},
		{
			"tag 0 after another",
			[]wiretest.Record{rec(math.MaxUint64, 0, "a"), rec(0, 0, "b")},
			"01 00 0000 02000000  01000080 ffffffffffffffff 61  01000080 0000000000000000 62",
		},
		{
			"a request",
			[]wiretest.Record{request(5, 0, "abc", 9)},
			header1 + "140000c0 00 0500000000000000 00 00000000000000000000000000000009 616263",
		},
		{
			"requests between plain messages, one with a status and no payload",
			[]wiretest.Record{rec(5, 0, "a"), request(5, 7, "", 9), rec(5, 0, "b"), rec(5, 8, "c")},
			"01 00 0000 04000000  01000080 0500000000000000 61  11000040 00 07 00000000000000000000000000000009  01000000 62  01000040 08 63",
		},
		{
			"a size of more than one byte",
			[]wiretest.Record{rec(5, 0, strings.Repeat("x", 0x0102))},
			header1 + "02010080 0500000000000000" + strings.Repeat("78", 0x0102),
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			want := wiretest.Unhex(t, test.want)
			if got := wiretest.Page(t, 1024, test.records); !bytes.Equal(got, want) {
				t.Errorf("got %x\nwant %x", got, want)
			}
			got, err := wiretest.Read(want)
			if diff := cmp.Diff(test.records, got); err != nil || diff != "" {
				t.Errorf("read back: %v (-want +got):\n%s", err, diff)
			}
		})
	}
}

func TestAPageBeginsAfreshInUsedMemory(t *testing.T) {
	mem := bytes.Repeat([]byte{0xff}, 64)
	var w wire.Writer
	for range 2 {
		w.Reset(mem)
		w.Append(5, 0, 0, []byte("a")) // the tag of the page before must not be left out
		if want := wiretest.Unhex(t, "01000000 01000000 01000080 0500000000000000 61"); !bytes.Equal(wiretest.Sent(&w, 0), want) {
			t.Errorf("got %x, want %x", wiretest.Sent(&w, 0), want)
		}
	}
}

func TestAPageTakesWhatSurelyFits(t *testing.T) {
	const size = 64
	most := size - wire.MaxOverhead
	var w wire.Writer
	w.Reset(make([]byte, size))
	if w.Append(5, 1, 0, make([]byte, most+1)) {
		t.Errorf("a message of %d bytes was taken, want at most %d", most+1, most)
	}
	if len(w.Mem) != 0 || w.Messages != 0 {
		t.Errorf("the refused message left %d bytes and %d messages", len(w.Mem), w.Messages)
	}
	if !w.Append(5, 1, 0, make([]byte, most)) {
		t.Errorf("a message of %d bytes was refused", most)
	}
	if got := len(wiretest.Sent(&w, 0)); got != wire.HeaderBytes+size || cap(w.Mem) != len(w.Mem) {
		t.Errorf("got %d bytes and memory for %d more, want the page full at %d", got, cap(w.Mem)-len(w.Mem), size)
	}
	if w.Append(5, 0, 0, nil) {
		t.Errorf("an empty message was taken by a full page")
	}
	if got, err := wiretest.Read(wiretest.Sent(&w, 0)); err != nil || len(got) != 1 {
		t.Errorf("got %d messages, %v want 1", len(got), err)
	}
}

// A message larger than a page is a page with one message: the header comes
// from the writer, the payload is put behind it.
func TestALargeMessageIsAPageOfOneMessage(t *testing.T) {
	payload := strings.Repeat("0123456789abcdef", 1000)
	var w wire.Writer
	w.Reset(make([]byte, 256))
	w.Header(5, 7, 0, len(payload))
	if want := wire.MaxOverhead; len(w.Mem) != want {
		t.Fatalf("got a header of %d bytes, want %d", len(w.Mem), want)
	}
	page := append(wiretest.Sent(&w, 0), payload...)
	if want := wiretest.Page(t, 1<<20, []wiretest.Record{rec(5, 7, payload)}); !bytes.Equal(page, want) {
		t.Errorf("it differs from a page that is large enough")
	}
	got, err := wiretest.Read(page)
	if diff := cmp.Diff([]wiretest.Record{rec(5, 7, payload)}, got); err != nil || diff != "" {
		t.Errorf("got %v (-want +got):\n%s", err, diff)
	}
}

func TestDamagedPages(t *testing.T) {
	tests := []struct {
		name  string
		input string
		read  int // messages before the damage
		want  wire.Error
	}{
		{"nothing", "", 0, wire.Error{0, "shorter than a page header"}},
		{"a header cut off", "01 00 0000 010000", 0, wire.Error{7, "shorter than a page header"}},
		{"another kind", "02 00 0000 01000000", 0, wire.Error{0, "unknown page header"}},
		{"a flag", "01 04 0000 01000000", 0, wire.Error{0, "unknown page header"}},
		{"no messages", "01 00 0000 00000000", 0, wire.Error{4, "no messages"}},
		{"no messages but bytes", "01 00 0000 00000000 00000080 0500000000000000", 0, wire.Error{4, "no messages"}},
		{"nothing after the header", "01 00 0000 01000000", 0, wire.Error{8, "message header cut off"}},
		{"a message header cut off", "01 00 0000 01000000 000000", 0, wire.Error{8, "message header cut off"}},
		{"a first message without tag", "01 00 0000 01000000 00000000", 0, wire.Error{8, "first message has no tag"}},
		{"a first message with a status and no tag", "01 00 0000 01000000 00000040 07", 0, wire.Error{8, "first message has no tag"}},
		{"a status cut off", "01 00 0000 01000000 00000040", 0, wire.Error{8, "status cut off"}},
		{"a request without an id", "01 00 0000 01000000 000000c0 00 0500000000000000", 0, wire.Error{8, "request of 0 bytes, its id takes 17"}},
		{"an id cut off", "01 00 0000 01000000 100000c0 00 0500000000000000 00 000102030405060708090a0b0c0d0e", 0, wire.Error{8, "request of 16 bytes, its id takes 17"}},
		{"an id of zero", "01 00 0000 01000000 110000c0 00 0500000000000000 07 00000000000000000000000000000000", 0, wire.Error{8, "request with an id of zero"}},
		{"a tag cut off", "01 00 0000 01000000 00000080 05000000000000", 0, wire.Error{8, "tag cut off"}},
		{"a tag cut off behind a status", "01 00 0000 01000000 000000c0 07 05000000000000", 0, wire.Error{8, "tag cut off"}},
		{"a payload cut off", "01 00 0000 01000000 02000080 0500000000000000 61", 0, wire.Error{8, "message of 2 bytes, 1 left"}},
		{"the greatest size", "01 00 0000 01000000 ffffffbf 0500000000000000", 0, wire.Error{8, "message of 1073741823 bytes, 0 left"}},
		{"the greatest size of a second message", "01 00 0000 02000000 01000080 0500000000000000 61 ffffff3f", 1, wire.Error{21, "message of 1073741823 bytes, 0 left"}},
		{"the tag of the message before", "01 00 0000 02000000 01000080 0500000000000000 61 01000080 0500000000000000 62", 1, wire.Error{21, "tag of the message before written out"}},
		{"one message too few", "01 00 0000 03000000 01000080 0500000000000000 61 00000000", 2, wire.Error{25, "message header cut off"}},
		{"as many messages as a number can say", "01 00 0000 ffffffff 01000080 0500000000000000 61", 1, wire.Error{21, "message header cut off"}},
		{"a byte after the last message", "01 00 0000 01000000 01000080 0500000000000000 61 00", 1, wire.Error{21, "1 bytes after the last message"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got, err := wiretest.Read(wiretest.Unhex(t, test.input))
			var damage *wire.Error
			if !errors.As(err, &damage) {
				t.Fatalf("got %v, want a *wire.Error", err)
			}
			if diff := cmp.Diff(test.want, *damage); diff != "" || len(got) != test.read {
				t.Errorf("got %d messages, want %d; error (-want +got):\n%s", len(got), test.read, diff)
			}
		})
	}
}

func TestEveryPrefixOfAPageIsRefused(t *testing.T) {
	page := wiretest.Page(t, 1024, []wiretest.Record{rec(5, 0, "abc"), rec(5, 7, ""), rec(6, 8, "de"), rec(6, 0, "f")})
	for n := range page {
		var damage *wire.Error
		if got, err := wiretest.Read(page[:n]); !errors.As(err, &damage) || damage.Offset > n {
			t.Errorf("first %d of %d bytes: got %v, %v want a *wire.Error", n, len(page), got, err)
		}
	}
}

func TestAPageKnowsItsLane(t *testing.T) {
	var w wire.Writer
	w.Reset(make([]byte, 64))
	w.Append(5, 0, 0, []byte("a"))
	for _, want := range []uint16{0, 1, math.MaxUint16} {
		var r wire.Reader
		if err := r.Reset(wire.Split(wiretest.Sent(&w, want))); err != nil || r.Lane != want {
			t.Errorf("lane: got %d and error %v, want %d and none", r.Lane, err, want)
		}
	}
}

// What is made room for depends on the bytes that have come, not on what a page claims.
func TestAPageHasNoMorePlainMessagesThanFit(t *testing.T) {
	var r wire.Reader
	err := r.Reset(wire.Split(wiretest.Unhex(t, "01 00 0000 ffffffff 01000080 0500000000000000 61 00000000 01000000 62")))
	if err != nil {
		t.Fatal(err)
	}
	if _, _, left := r.Plain(); left != 0 {
		t.Errorf("before the first message, which is not plain: got %d", left)
	}
	if ok, err := r.Next(); !ok || err != nil {
		t.Fatalf("got %v, %v want the first message", ok, err)
	}
	if _, _, left := r.Plain(); left != 2 {
		t.Errorf("got %d, want 2, of 9 bytes", left)
	}
	if run, messages := r.Run(); messages != 2 || len(run) != 9 {
		t.Errorf("got %d messages in %x, want 2 in 9 bytes", messages, run)
	}
}
