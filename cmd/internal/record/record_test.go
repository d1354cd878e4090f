// SPDX-License-Identifier: Apache-2.0

package record_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tagbus/cmd/internal/record"
	"tagbus/internal/testkit"
)

func format(tb testing.TB, text string) record.Format {
	tb.Helper()
	var f record.Format
	if err := f.UnmarshalText([]byte(text)); err != nil {
		tb.Fatalf("format %q: %v", text, err)
	}
	return f
}

// readAll returns the records of the input as text, and the error at the end.
func readAll(f record.Format, r io.Reader, maxBytes int) (records []string, err error) {
	reader, err := record.NewReader(f, r, maxBytes)
	if err != nil {
		return nil, err
	}
	for {
		data, err := reader.Next()
		if err != nil {
			return records, err
		}
		records = append(records, string(data))
		if _, err := reader.Info(); err != nil && !errors.Is(err, record.ErrClock) {
			return records, fmt.Errorf("what is known of it: %w", err)
		}
	}
}

// writeAll returns the file that holds the records.
func writeAll(tb testing.TB, f record.Format, records ...string) []byte {
	tb.Helper()
	var out bytes.Buffer
	w, err := record.NewWriter(f, &out, record.Ethernet)
	if err != nil {
		tb.Fatalf("NewWriter: %v", err)
	}
	for _, r := range records {
		if err := w.Write(record.Packet{Data: []byte(r)}); err != nil {
			tb.Fatalf("Write %q: %v", r, err)
		}
	}
	if err := w.End(); err != nil {
		tb.Fatalf("End: %v", err)
	}
	return out.Bytes()
}

func TestFormat(t *testing.T) {
	for _, text := range []string{"fixed:1", "fixed:7200", "lines", "length32", "pcap", "pcapng", "raw"} {
		if got := format(t, text).String(); got != text {
			t.Errorf("%s: got %q, want the same", text, got)
		}
	}
	tests := []struct{ name, text string }{
		{"no name", ""},
		{"an unknown name", "csv"},
		{"fixed without a size", "fixed"},
		{"a size of nothing", "fixed:0"},
		{"a negative size", "fixed:-5"},
		{"a size beyond the limit", "fixed:1073741825"},
		{"a size where there is none", "lines:5"},
		{"an empty size where there is none", "lines:"},
		{"capitals", "Lines"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			f := format(t, "lines")
			if err := f.UnmarshalText([]byte(test.text)); !errors.Is(err, record.ErrFormat) {
				t.Errorf("got %v, want %v", err, record.ErrFormat)
			}
			if f.Kind != record.Lines {
				t.Errorf("got the format changed to %v with an error, want it unchanged", f)
			}
		})
	}
}

func TestReader(t *testing.T) {
	tests := []struct {
		name, format, in string
		want             []string
		err              error
	}{
		{"whole fixed records", "fixed:3", "abcdef", []string{"abc", "def"}, io.EOF},
		{"a short last record", "fixed:4", "abcdef", []string{"abcd", "ef"}, io.EOF},
		{"no fixed record", "fixed:4", "", nil, io.EOF},
		{"fixed records above the limit", "fixed:9", "abcdefghi", nil, record.ErrTooLong},
		{"lines", "lines", "a\n\nbc\n", []string{"a", "", "bc"}, io.EOF},
		{"a last line without end", "lines", "a\nbc", []string{"a", "bc"}, io.EOF},
		{"a carriage return is part of the line", "lines", "a\r\n", []string{"a\r"}, io.EOF},
		{"no line", "lines", "", nil, io.EOF},
		{"the longest line", "lines", "12345678\n", []string{"12345678"}, io.EOF},
		{"a line above the limit", "lines", "ok\n123456789\n", []string{"ok"}, record.ErrTooLong},
		{"records with length", "length32", "\x01\x00\x00\x00a\x00\x00\x00\x00\x02\x00\x00\x00bc", []string{"a", "", "bc"}, io.EOF},
		{"an end in the length", "length32", "\x00\x00\x00\x00\x01\x00", []string{""}, record.ErrTruncated},
		{"an end in the record", "length32", "\x03\x00\x00\x00ab", nil, record.ErrTruncated},
		{"the longest record", "length32", "\x08\x00\x00\x0012345678", []string{"12345678"}, io.EOF},
		{"a record above the limit", "length32", "\x09\x00\x00\x00123456789", nil, record.ErrTooLong},
		{"a length of 2^31", "length32", "\x00\x00\x00\x80abc", nil, record.ErrTooLong},
		{"a length of 2^32-1", "length32", "\xff\xff\xff\xffabc", nil, record.ErrTooLong},
		{"no capture", "pcap", "", nil, record.ErrDamaged},
		{"a capture that is none", "pcap", "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n", nil, record.ErrDamaged},
		{"a compressed capture", "pcap", "\x1f\x8b\x08\x00aaaaaaaaaa", nil, record.ErrDamaged},
		{"a capture cut off in its header", "pcap", "\xd4\xc3\xb2\xa1\x02\x00\x04\x00", nil, record.ErrTruncated},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got, err := readAll(format(t, test.format), strings.NewReader(test.in), 8)
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("records differ (-want +got):\n%s", diff)
			}
			if !errors.Is(err, test.err) {
				t.Errorf("got error %v, want %v", err, test.err)
			}
		})
	}
}

func TestReadErrorNamesTheRecord(t *testing.T) {
	_, err := readAll(format(t, "length32"), strings.NewReader("\x01\x00\x00\x00a\x09\x00\x00\x00bc"), 16)
	want := "record 2: input ends within a record: 9 bytes announced, 2 there"
	var read *record.ReadError
	if !errors.As(err, &read) || read.Record != 2 || read.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

func TestReaderFailsForEver(t *testing.T) {
	r, err := record.NewReader(format(t, "length32"), strings.NewReader("\xff\xff\xff\xff\x01\x00\x00\x00a"), 8)
	testkit.Must(t, err)
	_, first := r.Next()
	if _, second := r.Next(); first == nil || !errors.Is(second, record.ErrTooLong) {
		t.Errorf("got %v and then %v, want the same error twice", first, second)
	}
}

// TestInputErrorsAreKept holds for errors of the file itself.
func TestInputErrorsAreKept(t *testing.T) {
	for _, text := range []string{"fixed:4", "lines", "length32", "pcap"} {
		dir, err := os.Open(t.TempDir()) // reading a directory fails
		testkit.Must(t, err)
		defer dir.Close()
		_, err = readAll(format(t, text), dir, 100)
		if pathErr := new(os.PathError); !errors.As(err, &pathErr) {
			t.Errorf("%s: got %v, want the error of the file", text, err)
		}
	}
}

func TestWriterAndReaderAgree(t *testing.T) {
	long := strings.Repeat("long record ", 60_000) // above what the capture library reads at once
	records := []string{"a", "", "bcd", long, "e"}
	for _, text := range []string{"length32", "lines", "pcap", "pcapng"} {
		t.Run(text, func(t *testing.T) {
			file := writeAll(t, format(t, text), records...)
			got, err := readAll(format(t, text), fewBytes{bytes.NewReader(file)}, 1<<20)
			if !errors.Is(err, io.EOF) {
				t.Fatalf("got error %v, want %v", err, io.EOF)
			}
			if diff := cmp.Diff(records, got); diff != "" {
				t.Errorf("records differ (-want +got):\n%s", diff)
			}
		})
	}
}

// fewBytes returns little at a time, as a pipe may.
type fewBytes struct{ r io.Reader }

func (f fewBytes) Read(p []byte) (int, error) { return f.r.Read(p[:min(len(p), 1000)]) }

func TestResetBeginsAnew(t *testing.T) {
	for _, text := range []string{"fixed:4", "length32", "lines", "pcap", "pcapng"} {
		file := writeAll(t, format(t, text), "four", "char")
		r, err := record.NewReader(format(t, text), bytes.NewReader(file), 100)
		for pass := range 3 {
			if err != nil {
				t.Fatalf("%s pass %d: %v", text, pass, err)
			}
			for _, want := range []string{"four", "char"}[:1+pass%2] { // also from the middle
				if got, err := r.Next(); string(got) != want || err != nil {
					t.Errorf("%s pass %d: got %q, %v, want %q", text, pass, got, err, want)
				}
			}
			err = r.Reset(bytes.NewReader(file))
		}
	}
}

func TestFixedAndRawWriteTheBytesAsTheyAre(t *testing.T) {
	for text, misfits := range map[string]uint64{"fixed:3": 2, "raw": 0} {
		var out bytes.Buffer
		w, err := record.NewWriter(format(t, text), &out, record.Ethernet)
		testkit.Must(t, err)
		for _, r := range []string{"abc", "de", "fghi", "jkl"} {
			testkit.Must(t, w.Write(record.Packet{Data: []byte(r)}))
		}
		if got, want := out.String(), "abcdefghijkl"; got != want {
			t.Errorf("%s: got %q, want %q", text, got, want)
		}
		if got := w.Misfits(); got != misfits {
			t.Errorf("%s: got %d misfits, want %d", text, got, misfits)
		}
	}
}

func TestWriterRefusesALineFeedInALine(t *testing.T) {
	w, err := record.NewWriter(format(t, "lines"), new(bytes.Buffer), record.Ethernet)
	testkit.Must(t, err)
	if err := w.Write(record.Packet{Data: []byte("a\nb")}); !errors.Is(err, record.ErrLineFeed) {
		t.Errorf("got %v, want %v", err, record.ErrLineFeed)
	}
}

func TestFormatsWithoutThatDirection(t *testing.T) {
	if _, err := record.NewReader(record.Format{}, strings.NewReader(""), 8); !errors.Is(err, record.ErrFormat) {
		t.Errorf("reader of nothing: got %v, want %v", err, record.ErrFormat)
	}
	if _, err := record.NewWriter(record.Format{}, io.Discard, record.Ethernet); !errors.Is(err, record.ErrFormat) {
		t.Errorf("writer of nothing: got %v, want %v", err, record.ErrFormat)
	}
}

func TestNothingIsAllocatedPerRecord(t *testing.T) {
	if testkit.Race {
		t.Skip("the race detector allocates")
	}
	for _, text := range []string{"fixed:100", "lines", "length32", "pcap", "pcapng"} {
		records := make([]string, 3000)
		for i := range records {
			records[i] = strings.Repeat("x", 100)
		}
		file := writeAll(t, format(t, text), records...)
		r, err := record.NewReader(format(t, text), bytes.NewReader(file), 1000)
		testkit.Must(t, err)
		w, err := record.NewWriter(format(t, text), io.Discard, record.Ethernet)
		testkit.Must(t, err)
		got := testing.AllocsPerRun(2000, func() {
			data, err := r.Next()
			testkit.Must(t, err)
			testkit.Must(t, w.Write(record.Packet{Data: data}))
		})
		if got != 0 {
			t.Errorf("%s: got %v allocations per record, want 0", text, got)
		}
	}
}

func TestRawIsOneRecord(t *testing.T) {
	for _, test := range []struct {
		name, input string
		want        []string
		err         string // after these
	}{
		{"two lines", "a\nb\n", []string{"a\nb\n"}, "EOF"},
		{"as much as is allowed", "12345678", []string{"12345678"}, "EOF"},
		{"nothing", "", nil, "EOF"},
		{"too much", "123456789", nil, "record 1: record too long: more than 8 bytes"},
	} {
		t.Run(test.name, func(t *testing.T) {
			r, err := record.NewReader(format(t, "raw"), strings.NewReader(test.input), 8)
			testkit.Must(t, err)
			for _, want := range test.want {
				if got, err := r.Next(); string(got) != want || err != nil {
					t.Errorf("got %q and error %v, want %q", got, err, want)
				}
			}
			if got, err := r.Next(); err == nil || err.Error() != test.err {
				t.Errorf("got %q and error %v, want %s", got, err, test.err)
			}
		})
	}
}
