// SPDX-License-Identifier: Apache-2.0

package record_test

import (
	"bytes"
	"errors"
	"io"
	"testing"

	"tagbus/cmd/internal/record"
)

// FuzzReader: whatever the input, a reader ends, panics never, and returns no
// record above the limit; what it returns can be written and read again.
func FuzzReader(f *testing.F) {
	names := []string{"fixed:7", "lines", "length32", "pcap", "pcapng"}
	for i, name := range names {
		f.Add(byte(i), writeAll(f, format(f, name), "a", "", "some bytes"))
		f.Add(byte(i), []byte("\xff\xff\xff\xff\xff\xff\xff\xff"))
		f.Add(byte(i), []byte{})
	}
	f.Fuzz(func(t *testing.T, kind byte, in []byte) {
		const maxBytes = 64
		name := names[int(kind)%len(names)]
		records, err := readAll(format(t, name), bytes.NewReader(in), maxBytes)
		if err == nil {
			t.Fatal("got no error at the end")
		}
		total := 0
		for _, r := range records {
			total += len(r)
			if len(r) > maxBytes {
				t.Errorf("got a record of %d bytes, want at most %d", len(r), maxBytes)
			}
		}
		if total > len(in) {
			t.Errorf("got %d bytes of records from %d bytes", total, len(in))
		}
		if !errors.Is(err, io.EOF) || kind > 2 {
			return
		}
		again := writeAll(t, format(t, name), records...)
		if name == "lines" && len(in) > 0 && in[len(in)-1] != '\n' {
			again = again[:len(again)-1]
		}
		if !bytes.Equal(again, in) {
			t.Errorf("%s: got %q after reading and writing, want %q", name, again, in)
		}
	})
}

func FuzzFormat(f *testing.F) {
	for _, text := range []string{"fixed:7200", "lines", "length32", "pcap", "fixed:", ":", "fixed:99999999999999999999"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		var a, b record.Format
		if err := a.UnmarshalText([]byte(text)); err != nil {
			return
		}
		if err := b.UnmarshalText([]byte(a.String())); err != nil || a != b {
			t.Errorf("%q: got %v, %v after printing %v, want the same", text, b, err, a)
		}
	})
}
