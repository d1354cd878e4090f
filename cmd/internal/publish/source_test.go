// SPDX-License-Identifier: Apache-2.0

package publish

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tagbus/cmd/internal/emulate"
	"tagbus/cmd/internal/record"
	"tagbus/internal/testkit"
	"tagbus/tags"
)

// Internal tests: a source is not seen from outside but through a bus.

// mustFlags returns flags with what matters to a source.
func mustFlags(tb testing.TB, set string) *Flags {
	tb.Helper()
	f := &Flags{MaxMessageBytes: 1 << 20}
	testkit.Must(tb, f.Tags.UnmarshalText([]byte(set)))
	return f
}

func TestRoundRobin(t *testing.T) {
	f := mustFlags(t, "7,3-4")
	f.Emulate = &emulate.Sizes{Min: 8, Max: 8}
	s, err := newSource(f, nil, t.Logf)
	testkit.Must(t, err)
	var got []string
	for range 7 {
		tag, data, err := s.next()
		testkit.Must(t, err)
		got = append(got, fmt.Sprintf("%d:%d", tag, data[0]))
	}
	if got, want := strings.Join(got, " "), "3:1 4:1 7:1 3:2 4:2 7:2 3:3"; got != want {
		t.Errorf("got tag:counter %s, want %s", got, want)
	}
}

func TestTagAtOffset(t *testing.T) {
	tests := []struct {
		name   string
		offset int
		data   string
		want   tags.Tag
		bad    bool
	}{
		{"at the beginning", 0, "\x01\x02\x03\x04\x05\x06\x07\x08 rest", 0x0807060504030201, false},
		{"up to the end", 2, "xx\xff\x00\x00\x00\x00\x00\x00\x10", 0x10000000000000ff, false},
		{"beyond the end", 3, "xx\xff\x00\x00\x00\x00\x00\x00\x10", 0, true},
		{"of nothing", 0, "", 0, true},
		{"far beyond the end", 1<<30 - 1, "12345678", 0, true},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got, err := Mapping{true, test.offset}.tagIn([]byte(test.data))
			if got != test.want || (err != nil) != test.bad {
				t.Errorf("got %v, %v, want %v and error %v", got, err, test.want, test.bad)
			}
		})
	}
}

// capture returns a pcapng file of n packets.
func capture(tb testing.TB, n int) []byte {
	tb.Helper()
	var file bytes.Buffer
	w, err := record.NewWriter(record.Format{Kind: record.Pcapng}, &file, record.Ethernet)
	for range n {
		err = errors.Join(err, w.Write(record.Packet{Data: []byte("packet")}))
	}
	if err = errors.Join(err, w.End()); err != nil {
		tb.Fatal(err)
	}
	return file.Bytes()
}

// TestPacketsThatNoRecordHeaderTakes uses good files of which a header cannot say all.
func TestPacketsThatNoRecordHeaderTakes(t *testing.T) {
	exact := capture(t, 2)
	// The only option of the interface is if_tsresol, 1 byte, 9.
	at := bytes.Index(exact, []byte{9, 0, 1, 0, 9})
	rounded := bytes.Clone(exact)
	rounded[at+4] = 0x80 | 64
	long := bytes.Clone(exact)
	copy(long[bytes.LastIndex(long, []byte{6, 0, 0, 0, 6, 0, 0, 0}):], []byte{6, 0, 0, 0, 5, 0, 0, 0})
	tests := []struct {
		name string
		file []byte
		want string
	}{
		{"a clock that cannot be told", rounded, "record 1: time that cannot be told: its interface counts in steps of 2^-64 s, which no clock does"},
		{"more than there was", long, "record 2: not a file of this format: 6 bytes were captured of a packet of 5"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			f := mustFlags(t, "5")
			f.Input, f.Record = filepath.Join(t.TempDir(), "in"), &record.Format{Kind: record.Pcap}
			testkit.Must(t, os.WriteFile(f.Input, test.file, 0o600))
			want := f.Input + ": " + test.want + ": --no-record-header publishes the packets without it"
			if err := readSource(t, f); err == nil || err.Error() != want {
				t.Errorf("got %v, want %s", err, want)
			}
			f.NoRecordHeader = true
			if err := readSource(t, f); err != io.EOF { //nolint:errorlint // next returns it bare
				t.Errorf("without headers: got %v, want %v", err, io.EOF)
			}
		})
	}
}

// readSource reads a source to its end and returns the error.
func readSource(tb testing.TB, f *Flags) error {
	tb.Helper()
	s, err := newSource(f, nil, tb.Logf)
	for err == nil {
		_, _, err = s.next()
	}
	return err
}

func TestNothingIsAllocatedPerMessage(t *testing.T) {
	if testkit.Race {
		t.Skip("the race detector allocates")
	}
	name := filepath.Join(t.TempDir(), "in")
	testkit.Must(t, os.WriteFile(name, []byte(strings.Repeat("0123456789abcdef", 100)), 0o600))
	packets := filepath.Join(t.TempDir(), "in.pcapng")
	testkit.Must(t, os.WriteFile(packets, capture(t, 100), 0o600))
	headed := mustFlags(t, "1-1000")
	headed.Input, headed.Loop, headed.Record = packets, true, &record.Format{Kind: record.Pcap}
	emulated, looped, mapped := mustFlags(t, "1-1000"), mustFlags(t, "1-1000"), mustFlags(t, "*")
	emulated.Emulate = &emulate.Sizes{Min: 40, Max: 400}
	for _, f := range []*Flags{looped, mapped} {
		f.Input, f.Loop, f.Record = name, true, &record.Format{Kind: record.Fixed, Bytes: 16}
	}
	mapped.Map = Mapping{true, 8}
	for what, f := range map[string]*Flags{"emulated": emulated, "from a file": looped, "mapped": mapped, "with a record header": headed} {
		s, err := newSource(f, nil, t.Logf)
		testkit.Must(t, err)
		got := testing.AllocsPerRun(1000, func() {
			if _, _, err := s.next(); err != nil {
				t.Fatal(err)
			}
		})
		if got != 0 {
			t.Errorf("%s: got %v allocations per message, want 0", what, got)
		}
	}
}
