// SPDX-License-Identifier: Apache-2.0

package record_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"slices"
	"testing"
	"time"

	"tagbus/cmd/internal/record"
)

// block returns a block of a pcapng file.
func block(kind uint32, body ...any) []byte {
	var b bytes.Buffer
	for _, part := range body {
		if err := binary.Write(&b, binary.LittleEndian, part); err != nil {
			panic(err)
		}
	}
	n := uint32(b.Len() + 12)
	out := binary.LittleEndian.AppendUint32(nil, kind)
	out = binary.LittleEndian.AppendUint32(out, n)
	out = append(out, b.Bytes()...)
	return binary.LittleEndian.AppendUint32(out, n)
}

// section is the beginning of a pcapng file.
var section = block(0x0a0d0d0a, uint32(0x1a2b3c4d), uint16(1), uint16(0), int64(-1))

// counting returns an interface that counts time in steps of this resolution.
func counting(resolution uint8) []byte {
	return block(1, uint16(113), uint16(0), uint32(0), uint16(9), uint16(1), resolution, [3]byte{}, uint32(0))
}

func TestTimesOfPcapng(t *testing.T) {
	enhanced := block(6, uint32(0), uint32(0), uint32(1234567), uint32(4), uint32(9), [4]byte{1, 2, 3, 4})
	tests := []struct {
		name   string
		blocks []byte
		want   time.Time
		err    string
	}{
		{"milliseconds", append(counting(3), enhanced...), time.Unix(1234, 567_000_000), ""},
		{"picoseconds, of which the nanoseconds are kept", append(counting(12), enhanced...), time.Unix(0, 1234), ""},
		{"a power of two", append(counting(0x80|20), enhanced...), time.Time{}, "record 1: time that cannot be told exactly: interface 0 counts in steps of 2^-20 s"},
		{"more than 64 bits a second", append(counting(20), enhanced...), time.Time{}, "record 1: time that cannot be told exactly: interface 0 counts in steps of 10^-20 s"},
		{"seconds", append(counting(0), enhanced...), time.Time{}, "record 1: time that cannot be told exactly: interface 0 counts microseconds or, as one of this file does, seconds"},
		{"microseconds", append(counting(6), enhanced...), time.Unix(1, 234567_000), ""},
		{"nanoseconds, beside seconds", slices.Concat(counting(9), counting(0), enhanced), time.Unix(0, 1234567), ""},
		{"a packet without a time", append(counting(9), block(3, uint32(4), [4]byte{1, 2, 3, 4})...), time.Unix(0, 0), ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			r, err := record.NewReader(format(t, "pcapng"), bytes.NewReader(append(bytes.Clone(section), test.blocks...)), 100)
			if err != nil {
				t.Fatal(err)
			}
			if data, err := r.Next(); string(data) != "\x01\x02\x03\x04" || err != nil {
				t.Fatalf("got %x and %v, want 01020304", data, err)
			}
			got, err := r.Info()
			if test.err != "" {
				if !errors.Is(err, record.ErrClock) || err.Error() != test.err {
					t.Errorf("got %v, want %s", err, test.err)
				}
				return
			}
			if !got.Time.Equal(test.want) || got.LinkType != 113 || err != nil {
				t.Errorf("got %+v and %v, want link type 113 and %v", got, err, test.want)
			}
		})
	}
}

// TestClocksOfSecondsAreSeenAnywhere: in either byte order, in pieces of any size, behind
// other options, blocks and sections.
func TestClocksOfSecondsAreSeenAnywhere(t *testing.T) {
	for _, order := range []binary.AppendByteOrder{binary.LittleEndian, binary.BigEndian} {
		for _, resolution := range []byte{0, 6} {
			var file []byte
			add := func(kind uint32, body []byte) {
				file = order.AppendUint32(file, kind)
				file = order.AppendUint32(file, uint32(len(body)+12))
				file = append(file, body...)
				file = order.AppendUint32(file, uint32(len(body)+12))
			}
			for range 2 {
				add(0x0a0d0d0a, append(order.AppendUint32(nil, 0x1a2b3c4d), make([]byte, 12)...))
				order.(binary.ByteOrder).PutUint16(file[len(file)-16:], 1) // the version
				add(5000, make([]byte, 5000))
			}
			intf := order.AppendUint16(make([]byte, 8), 2) // if_name
			intf = append(order.AppendUint16(intf, 5), "eth09\x00\x00\x00"...)
			intf = order.AppendUint16(order.AppendUint16(intf, 9), 1) // if_tsresol
			intf = append(intf, resolution, 0, 0, 0)
			add(1, append(intf, 0, 0, 0, 0))
			packet := order.AppendUint32(order.AppendUint32(make([]byte, 12), 4), 4)
			add(6, append(packet, "data"...))

			r, err := record.NewReader(format(t, "pcapng"), fewBytes{bytes.NewReader(file)}, 1<<20)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := r.Next(); err != nil {
				t.Fatalf("%v: %v", order, err)
			}
			if _, err := r.Info(); errors.Is(err, record.ErrClock) != (resolution == 0) {
				t.Errorf("%v, resolution %d: got %v", order, resolution, err)
			}
		}
	}
}
