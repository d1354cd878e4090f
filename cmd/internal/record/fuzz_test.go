// SPDX-License-Identifier: Apache-2.0

package record_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"slices"
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
	f.Add(byte(4), slices.Concat(section, counting(0), counting(0x80|20), block(3, uint32(4), [4]byte{1, 2, 3, 4})))
	f.Add(byte(4), slices.Concat(section, offsetBy(-1), packetAt(0, 1), section, block(2, uint32(0), uint64(0), uint32(0), uint32(0)), block(5, uint64(0))))
	f.Add(byte(3), classic(binary.BigEndian, 0xa1b23c4d, 3, 1, 4, 3))
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

// FuzzOpen: whatever the message, its packet is a part of it, and what is known of the
// packet can be put before it again.
func FuzzOpen(f *testing.F) {
	header, err := record.AppendHeader(nil, cooked(), 4)
	if err != nil {
		f.Fatal(err)
	}
	for n := range header {
		f.Add(header[:n])
	}
	f.Add(append(header, "some"...))
	f.Add(append(header, header...))
	f.Fuzz(func(t *testing.T, message []byte) {
		p, err := record.Open(message)
		switch {
		case err != nil:
			if !errors.Is(err, record.ErrHeader) {
				t.Errorf("got %v, want %v", err, record.ErrHeader)
			}
		case p.Known:
			again, err := record.AppendHeader(nil, p.Info, len(p.Data))
			if again = append(again, p.Data...); err != nil || !bytes.Equal(again, message) {
				t.Errorf("got %x and %v after opening and closing, want %x", again, err, message)
			}
		case !bytes.Equal(p.Data, message):
			t.Errorf("got %x without a header, want %x", p.Data, message)
		}
	})
}
