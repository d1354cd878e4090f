// SPDX-License-Identifier: Apache-2.0

package recording_test

import (
	"bytes"
	"encoding/hex"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"tagbus/bus"
	"tagbus/recording"
	"tagbus/tags"
)

// golden is what the files in testdata have, in two blocks.
func golden() (h recording.Header, first, second []recording.Record) {
	h = recording.Header{
		ID: recording.ID([]byte("0123456789abcdef")), Part: 2, Created: start,
		Host: "host", Name: "name", Version: "1.2", Tags: tags.Of(1, 2, 3), Policy: "block",
	}
	request := message(5, alice, 0x10, 9, "id").WithRequestID(bus.RequestIDOf([16]byte([]byte("fedcba9876543210"))))
	status := message(5, alice, 0x0f, 4, "status")
	status.Status = 0xff
	first = []recording.Record{
		event(0, recording.Event{Kind: recording.Joined, Peer: alice, Tags: tags.Of(0xf, 0x10)}),
		event(0, recording.Event{Kind: recording.Position, Peer: alice, Tag: 0x10, Count: 6}),
		message(0, alice, 0x10, 7, "plain"),
		message(5, alice, 0x10, 8, "later"),
		{Message: recording.Message{Message: request, Time: start.Add(5 * time.Microsecond)}},
		message(5, alice, 0x0f, 1, ""),
		event(5, recording.Event{Kind: recording.Gap, Peer: alice, Tag: 0x0f, Count: 2, Cause: recording.CauseMemory}),
		status,
	}
	second = []recording.Record{
		message(4, bob, 0x10, 300, strings.Repeat("zeros", 30)), // the clock was set back
		message(4, nil, 0x10, 1, "of no publisher"),
		event(6, recording.Event{Kind: recording.Lost, Peer: bob, Text: "why"}),
		event(7, recording.Event{Kind: recording.Ended, Peer: alice, Failed: true, Text: "disk full"}),
		event(8, recording.Event{Kind: recording.Vanished, Peer: bob}),
		event(9, recording.Event{Kind: recording.Stopped, Text: "end"}),
	}
	return h, first, second
}

// goldenFile writes the golden records.
func goldenFile(tb testing.TB, codec recording.Codec) []byte {
	tb.Helper()
	h, first, second := golden()
	var b bytes.Buffer
	w, err := recording.NewWriter(&b, h, recording.Config{Codec: codec})
	must(tb, err)
	write(tb, w, first...)
	must(tb, w.Flush())
	write(tb, w, second...)
	must(tb, w.Close())
	return b.Bytes()
}

// unhex returns the bytes of a file of hexadecimal digits. In each line what follows a #
// is a comment.
func unhex(tb testing.TB, name string) (b []byte) {
	tb.Helper()
	text, err := os.ReadFile(name)
	must(tb, err)
	for line := range strings.Lines(string(text)) {
		digits, _, _ := strings.Cut(line, "#")
		line, err := hex.DecodeString(strings.Join(strings.Fields(digits), ""))
		must(tb, err)
		b = append(b, line...)
	}
	return b
}

// TestReader_theFormatIsThatOfTheGoldenFiles in both directions. What the compressors write may
// change with their versions, so their files are only read.
func TestReader_theFormatIsThatOfTheGoldenFiles(t *testing.T) {
	h, first, second := golden()
	want := forms(slices.Concat(first, second)...)
	for _, codec := range codecs {
		name := "testdata/" + codec.String() + ".hex"
		b := unhex(t, name)
		r := open(t, b)
		if got := readAll(t, r); !slices.Equal(got, want) {
			t.Errorf("%s: got %+v, want %+v", name, got, want)
		}
		info := r.Info()
		if got := info.Header; got.ID != h.ID || got.Part != h.Part || !got.Created.Equal(h.Created) || got.Host != h.Host ||
			got.Name != h.Name || got.Version != h.Version || !got.Tags.Equal(h.Tags) || got.Policy != h.Policy {
			t.Errorf("%s: got the header %+v, want %+v", name, got, h)
		}
		if !info.Indexed || info.Blocks != 2 || info.Messages != 7 || info.Events != 7 || !info.First.Equal(start) || !info.Last.Equal(start.Add(9*time.Microsecond)) {
			t.Errorf("%s: got %+v", name, info)
		}
		if got := goldenFile(t, codec); codec == recording.None && !bytes.Equal(got, b) {
			t.Errorf("%s: is written as\n%s", name, hex.Dump(got))
		}
	}
}
