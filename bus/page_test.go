package bus

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tagbus/tags"
)

// testRecord is one message of a page.
type testRecord struct {
	Tag    tags.Tag
	Status Status
	Data   string
}

// unhex reads hex in which spaces separate what belongs together.
func unhex(tb testing.TB, s string) []byte {
	tb.Helper()
	b, err := hex.DecodeString(strings.ReplaceAll(s, " ", ""))
	if err != nil {
		tb.Fatalf("%q: %v", s, err)
	}
	return b
}

// writePage returns a page of the records, which must fit size bytes.
func writePage(tb testing.TB, size int, records []testRecord) []byte {
	tb.Helper()
	var w pageWriter
	w.reset(make([]byte, size))
	for i, r := range records {
		if !w.append(r.Tag, r.Status, 0, []byte(r.Data)) {
			tb.Fatalf("message %d of %d does not fit %d bytes", i, len(records), size)
		}
	}
	return whole(&w, 0)
}

// whole returns a page as it is sent.
func whole(w *pageWriter, lane uint16) []byte {
	var header [pageHeaderBytes]byte
	putPageHeader(&header, lane, w.positions, w.messages)
	return append(header[:], w.mem...)
}

// readPage returns the messages of a page up to its end or its damage, read in both
// ways.
func readPage(page []byte) (records []testRecord, err error) {
	records, err = readPageBy(page, false)
	plain, plainErr := readPageBy(page, true)
	if !slices.Equal(records, plain) || fmt.Sprint(err) != fmt.Sprint(plainErr) {
		return records, fmt.Errorf("nextPlain reads %v, %w, and next %v, %w", plain, plainErr, records, err)
	}
	return records, err
}

// readPageBy reads what nextPlain reads with it, if plain says so, and all else with
// next.
func readPageBy(page []byte, plain bool) (records []testRecord, err error) {
	var r pageReader
	if err := r.reset(page); err != nil {
		return nil, err
	}
	for {
		var data []byte
		status, ok := Status(0), false
		if plain {
			data, ok = r.nextPlain()
		}
		if !ok {
			if ok, err := r.next(); !ok {
				return records, err
			}
			data, status = r.data, r.status
		}
		if cap(data) != len(data) {
			return records, errors.New("a handler that appends would overwrite the next message")
		}
		records = append(records, testRecord{r.tag, status, string(data)})
	}
}

func TestPageBytes(t *testing.T) {
	const header1 = "01 00 0000 01000000"
	tests := []struct {
		name    string
		records []testRecord
		want    string
	}{
		{"a message", []testRecord{{5, 0, "abc"}}, header1 + "03000080 0500000000000000 616263"},
		{"an empty message", []testRecord{{5, 0, ""}}, header1 + "00000080 0500000000000000"},
		{"an empty message of tag 0", []testRecord{{0, 0, ""}}, header1 + "00000080 0000000000000000"},
		{"a status", []testRecord{{5, 0x80, "a"}}, header1 + "010000c0 80 0500000000000000 61"},
		{"a detector's tag", []testRecord{{0x1000013000118000, 0, "a"}}, header1 + "01000080 0080110030010010 61"},
		{
			"a tag is written once for messages in a row",
			[]testRecord{{5, 0, "a"}, {5, 0, ""}, {5, 0, "bc"}},
			"01 00 0000 03000000  01000080 0500000000000000 61  00000000  02000000 6263",
		},
		{
			"a status without a tag",
			[]testRecord{{5, 0, "a"}, {5, 7, "b"}, {5, 0, "c"}},
			"01 00 0000 03000000  01000080 0500000000000000 61  01000040 07 62  01000000 63",
		},
		{
			"a tag that changes and comes back",
			[]testRecord{{5, 0, "a"}, {6, 255, "b"}, {5, 0, "c"}},
			"01 00 0000 03000000  01000080 0500000000000000 61  010000c0 ff 0600000000000000 62  01000080 0500000000000000 63",
		},
		{
			"tag 0 after another",
			[]testRecord{{math.MaxUint64, 0, "a"}, {0, 0, "b"}},
			"01 00 0000 02000000  01000080 ffffffffffffffff 61  01000080 0000000000000000 62",
		},
		{
			"a size of more than one byte",
			[]testRecord{{5, 0, strings.Repeat("x", 0x0102)}},
			header1 + "02010080 0500000000000000" + strings.Repeat("78", 0x0102),
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			want := unhex(t, test.want)
			if got := writePage(t, 1024, test.records); !bytes.Equal(got, want) {
				t.Errorf("got %x\nwant %x", got, want)
			}
			got, err := readPage(want)
			if diff := cmp.Diff(test.records, got); err != nil || diff != "" {
				t.Errorf("read back: %v (-want +got):\n%s", err, diff)
			}
		})
	}
}

func TestAPageBeginsAfreshInUsedMemory(t *testing.T) {
	mem := bytes.Repeat([]byte{0xff}, 64)
	var w pageWriter
	for range 2 {
		w.reset(mem)
		w.append(5, 0, 0, []byte("a")) // the tag of the page before must not be left out
		if want := unhex(t, "01000000 01000000 01000080 0500000000000000 61"); !bytes.Equal(whole(&w, 0), want) {
			t.Errorf("got %x, want %x", whole(&w, 0), want)
		}
	}
}

func TestAPageTakesWhatSurelyFits(t *testing.T) {
	const size = 64
	most := size - pageHeaderBytes - maxRecordOverhead
	var w pageWriter
	w.reset(make([]byte, size))
	if w.append(5, 1, 0, make([]byte, most+1)) {
		t.Errorf("a message of %d bytes was taken, want at most %d", most+1, most)
	}
	if len(w.mem) != 0 || w.messages != 0 {
		t.Errorf("the refused message left %d bytes and %d messages", len(w.mem), w.messages)
	}
	if !w.append(5, 1, 0, make([]byte, most)) {
		t.Errorf("a message of %d bytes was refused", most)
	}
	if got := len(whole(&w, 0)); got != size || cap(w.mem) != len(w.mem) {
		t.Errorf("got %d bytes and memory for %d more, want the page full at %d", got, cap(w.mem)-len(w.mem), size)
	}
	if w.append(5, 0, 0, nil) {
		t.Errorf("an empty message was taken by a full page")
	}
	if got, err := readPage(whole(&w, 0)); err != nil || len(got) != 1 {
		t.Errorf("got %d messages, %v want 1", len(got), err)
	}
}

// A message larger than a page is a page with one message: the header comes
// from the writer, the payload is put behind it.
func TestALargeMessageIsAPageOfOneMessage(t *testing.T) {
	payload := strings.Repeat("0123456789abcdef", 1000)
	var w pageWriter
	w.reset(make([]byte, 256))
	w.header(5, 7, 0, len(payload))
	if want := maxRecordOverhead; len(w.mem) != want {
		t.Fatalf("got a header of %d bytes, want %d", len(w.mem), want)
	}
	page := append(whole(&w, 0), payload...)
	if want := writePage(t, 1<<20, []testRecord{{5, 7, payload}}); !bytes.Equal(page, want) {
		t.Errorf("it differs from a page that is large enough")
	}
	got, err := readPage(page)
	if diff := cmp.Diff([]testRecord{{5, 7, payload}}, got); err != nil || diff != "" {
		t.Errorf("got %v (-want +got):\n%s", err, diff)
	}
}

func TestDamagedPages(t *testing.T) {
	tests := []struct {
		name  string
		input string
		read  int // messages before the damage
		want  PageError
	}{
		{"nothing", "", 0, PageError{0, "shorter than a page header"}},
		{"a header cut off", "01 00 0000 010000", 0, PageError{7, "shorter than a page header"}},
		{"another kind", "02 00 0000 01000000", 0, PageError{0, "unknown page header"}},
		{"a flag", "01 04 0000 01000000", 0, PageError{0, "unknown page header"}},
		{"no messages", "01 00 0000 00000000", 0, PageError{4, "no messages"}},
		{"no messages but bytes", "01 00 0000 00000000 00000080 0500000000000000", 0, PageError{4, "no messages"}},
		{"nothing after the header", "01 00 0000 01000000", 0, PageError{8, "message header cut off"}},
		{"a message header cut off", "01 00 0000 01000000 000000", 0, PageError{8, "message header cut off"}},
		{"a first message without tag", "01 00 0000 01000000 00000000", 0, PageError{8, "first message has no tag"}},
		{"a first message with a status and no tag", "01 00 0000 01000000 00000040 07", 0, PageError{8, "first message has no tag"}},
		{"a status cut off", "01 00 0000 01000000 00000040", 0, PageError{8, "status cut off"}},
		{"a status of zero", "01 00 0000 01000000 000000c0 00 0500000000000000", 0, PageError{8, "status of zero written out"}},
		{"a tag cut off", "01 00 0000 01000000 00000080 05000000000000", 0, PageError{8, "tag cut off"}},
		{"a tag cut off behind a status", "01 00 0000 01000000 000000c0 07 05000000000000", 0, PageError{8, "tag cut off"}},
		{"a payload cut off", "01 00 0000 01000000 02000080 0500000000000000 61", 0, PageError{8, "message of 2 bytes, 1 left"}},
		{"the greatest size", "01 00 0000 01000000 ffffffbf 0500000000000000", 0, PageError{8, "message of 1073741823 bytes, 0 left"}},
		{"the greatest size of a second message", "01 00 0000 02000000 01000080 0500000000000000 61 ffffff3f", 1, PageError{21, "message of 1073741823 bytes, 0 left"}},
		{"the tag of the message before", "01 00 0000 02000000 01000080 0500000000000000 61 01000080 0500000000000000 62", 1, PageError{21, "tag of the message before written out"}},
		{"one message too few", "01 00 0000 03000000 01000080 0500000000000000 61 00000000", 2, PageError{25, "message header cut off"}},
		{"as many messages as a number can say", "01 00 0000 ffffffff 01000080 0500000000000000 61", 1, PageError{21, "message header cut off"}},
		{"a byte after the last message", "01 00 0000 01000000 01000080 0500000000000000 61 00", 1, PageError{21, "1 bytes after the last message"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got, err := readPage(unhex(t, test.input))
			var damage *PageError
			if !errors.As(err, &damage) || !errors.Is(err, ErrProtocol) {
				t.Fatalf("got %v, want a *PageError", err)
			}
			if diff := cmp.Diff(test.want, *damage); diff != "" || len(got) != test.read {
				t.Errorf("got %d messages, want %d; error (-want +got):\n%s", len(got), test.read, diff)
			}
		})
	}
}

func TestEveryPrefixOfAPageIsRefused(t *testing.T) {
	page := writePage(t, 1024, []testRecord{{5, 0, "abc"}, {5, 7, ""}, {6, 8, "de"}, {6, 0, "f"}})
	for n := range page {
		var damage *PageError
		if got, err := readPage(page[:n]); !errors.As(err, &damage) || damage.Offset > n {
			t.Errorf("first %d of %d bytes: got %v, %v want a *PageError", n, len(page), got, err)
		}
	}
}

func TestAPageKnowsItsLane(t *testing.T) {
	var w pageWriter
	w.reset(make([]byte, 64))
	w.append(5, 0, 0, []byte("a"))
	for _, want := range []uint16{0, 1, math.MaxUint16} {
		var r pageReader
		if err := r.reset(whole(&w, want)); err != nil || r.lane != want {
			t.Errorf("lane: got %d and error %v, want %d and none", r.lane, err, want)
		}
	}
}
