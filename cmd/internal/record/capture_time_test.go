// SPDX-License-Identifier: Apache-2.0

package record_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"math/big"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"tagbus/cmd/internal/record"
	"tagbus/internal/testkit"
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

// packetAt returns a packet of an interface with a time in steps.
func packetAt(on uint32, ticks uint64) []byte {
	return block(6, on, uint32(ticks>>32), uint32(ticks), uint32(4), uint32(9), [4]byte{1, 2, 3, 4})
}

// offsetBy returns an interface that counts nanoseconds from another beginning.
func offsetBy(seconds int64) []byte {
	return block(1, uint16(113), uint16(0), uint32(0), uint16(9), uint16(1), [4]byte{9}, uint16(14), uint16(8), seconds, uint32(0))
}

func TestTimesOfPcapng(t *testing.T) {
	const ticks = 1234567
	enhanced := packetAt(0, ticks)
	tests := []struct {
		name   string
		blocks []byte
		want   time.Time
		note   string
		err    string
	}{
		{"milliseconds", slices.Concat(counting(3), enhanced), time.Unix(1234, 567_000_000), "", ""},
		{"microseconds", slices.Concat(counting(6), enhanced), time.Unix(1, 234567_000), "", ""},
		{"picoseconds", slices.Concat(counting(12), enhanced), time.Unix(0, 1235), "times are in steps of 10^-12 s, and are rounded to the nanosecond", ""},
		{"picoseconds that are nanoseconds", slices.Concat(counting(12), packetAt(0, 5000)), time.Unix(0, 5), "", ""},
		{"a power of two", slices.Concat(counting(0x80|20), enhanced), time.Unix(1, 177374840), "times are in steps of 2^-20 s, and are rounded to the nanosecond", ""},
		{"a power of two that is a nanosecond", slices.Concat(counting(0x80|20), packetAt(0, 1<<20+1<<19)), time.Unix(1, 500_000_000), "", ""},
		{"2^-28", slices.Concat(counting(0x80|28), packetAt(0, 1_700_000_000<<28+1)), time.Unix(1_700_000_000, 4), "times are in steps of 2^-28 s, and are rounded to the nanosecond", ""},
		{"the last step of a second", slices.Concat(counting(0x80|32), packetAt(0, 1<<32-1)), time.Unix(1, 0), "times are in steps of 2^-32 s, and are rounded to the nanosecond", ""},
		{"2^-63", slices.Concat(counting(0x80|63), packetAt(0, 1<<63)), time.Unix(1, 0), "", ""},
		{"10^-19", slices.Concat(counting(19), packetAt(0, 1e19)), time.Unix(1, 0), "", ""},
		{"seconds", slices.Concat(counting(0), enhanced), time.Unix(ticks, 0), "", ""},
		{"seconds as a power of two", slices.Concat(counting(0x80), enhanced), time.Unix(ticks, 0), "", ""},
		{"nanoseconds, beside seconds", slices.Concat(counting(9), counting(0), enhanced), time.Unix(0, ticks), "", ""},
		{"another interface", slices.Concat(counting(9), counting(3), packetAt(1, 5)), time.Unix(0, 5e6), "", ""},
		{"another section", slices.Concat(counting(9), section, counting(3), packetAt(0, 5)), time.Unix(0, 5e6), "", ""},
		{"a packet without a time", slices.Concat(counting(9), block(3, uint32(4), [4]byte{1, 2, 3, 4})), time.Unix(0, 0), "", ""},
		{"an offset", slices.Concat(offsetBy(1_700_000_000), enhanced), time.Unix(1_700_000_000, ticks), "", ""},
		{"a negative offset", slices.Concat(offsetBy(-10), packetAt(0, 11e9+5)), time.Unix(1, 5), "", ""},
		{"an obsolete packet", slices.Concat(counting(3), block(2, uint16(0), uint16(7), uint32(0), uint32(5), uint32(4), uint32(9), [4]byte{1, 2, 3, 4})), time.Unix(0, 5e6), "", ""},
		{"an offset to before 1970", slices.Concat(offsetBy(-10), enhanced), time.Time{}, "", "record 1: time that cannot be told: it is outside of 1970 to 2262: 1234567 steps of 10^-9 s, and -10 s"},
		{"the largest offset", slices.Concat(offsetBy(1<<63-1), enhanced), time.Time{}, "", "record 1: time that cannot be told: it is outside of 1970 to 2262: 1234567 steps of 10^-9 s, and 9223372036854775807 s"},
		{"the largest time", slices.Concat(counting(0), packetAt(0, 1<<64-1)), time.Time{}, "", "record 1: time that cannot be told: it is outside of 1970 to 2262: 18446744073709551615 steps of 10^-0 s, and 0 s"},
		{"10^-20", slices.Concat(counting(20), enhanced), time.Time{}, "", "record 1: time that cannot be told: its interface counts in steps of 10^-20 s, which no clock does"},
		{"2^-64", slices.Concat(counting(0x80|64), enhanced), time.Time{}, "", "record 1: time that cannot be told: its interface counts in steps of 2^-64 s, which no clock does"},
		{"2^-127", slices.Concat(counting(0xff), enhanced), time.Time{}, "", "record 1: time that cannot be told: its interface counts in steps of 2^-127 s, which no clock does"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			file := slices.Concat(section, test.blocks, packetAt(0, ticks))
			if test.name == "another section" {
				file = slices.Concat(section, test.blocks)
			}
			r, err := record.NewReader(format(t, "pcapng"), bytes.NewReader(file), 100)
			testkit.Must(t, err)
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
			notes := r.Notes()
			if strings.Join(notes, "; ") != test.note {
				t.Errorf("got the notes %q, want %q", notes, test.note)
			}
			if _, err := r.Next(); err == nil && test.note != "" && r.Notes() != nil {
				t.Error("got the note twice")
			}
		})
	}
}

// TestBinaryTimesAreRoundedExactly compares them with numbers of any size.
func TestBinaryTimesAreRoundedExactly(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	for range 500 {
		exponent := random.Uint64N(40)
		ticks := random.Uint64N(1 << min(63, 31+exponent))
		r, err := record.NewReader(format(t, "pcapng"), bytes.NewReader(slices.Concat(section, counting(0x80|uint8(exponent)), packetAt(0, ticks))), 100)
		testkit.Must(t, err)
		if _, err := r.Next(); err != nil {
			t.Fatal(err)
		}
		got, err := r.Info()
		testkit.Must(t, err)
		ns := new(big.Int).Mul(new(big.Int).SetUint64(ticks), big.NewInt(2e9)) // twice, to round
		ns.Rsh(ns, uint(exponent)).Add(ns, big.NewInt(1)).Rsh(ns, 1)
		if want := ns.Int64(); got.Time.UnixNano() != want {
			t.Errorf("%d steps of 2^-%d s: got %d ns, want %d", ticks, exponent, got.Time.UnixNano(), want)
		}
	}
}

// TestPcapngInEitherByteOrder: in pieces of any size, behind other options, blocks and sections.
func TestPcapngInEitherByteOrder(t *testing.T) {
	for _, order := range []binary.AppendByteOrder{binary.LittleEndian, binary.BigEndian} {
		var file []byte
		add := func(kind uint32, body []byte) {
			file = order.AppendUint32(file, kind)
			file = order.AppendUint32(file, uint32(len(body)+12))
			file = append(file, body...)
			file = order.AppendUint32(file, uint32(len(body)+12))
		}
		for range 2 {
			add(0x0a0d0d0a, append(order.AppendUint32(nil, 0x1a2b3c4d), make([]byte, 16)...))
			order.(binary.ByteOrder).PutUint16(file[len(file)-20:], 1) // the version
			add(5000, make([]byte, 2<<20))                             // more than a packet may have
		}
		intf := order.AppendUint16(make([]byte, 8), 2) // if_name
		order.(binary.ByteOrder).PutUint16(intf, 147)
		intf = append(order.AppendUint16(intf, 5), "eth09\x00\x00\x00"...)
		intf = append(order.AppendUint16(order.AppendUint16(intf, 3), 3), "why\x00"...)
		intf = append(order.AppendUint16(order.AppendUint16(intf, 9), 1), 0, 0, 0, 0) // if_tsresol
		add(1, append(intf, 0, 0, 0, 0))
		packet := order.AppendUint32(order.AppendUint32(order.AppendUint32(make([]byte, 8), 77), 4), 40)
		add(6, append(packet, "data"...))
		r, err := record.NewReader(format(t, "pcapng"), fewBytes{bytes.NewReader(file)}, 1<<20)
		testkit.Must(t, err)
		if got, err := r.Next(); string(got) != "data" || err != nil {
			t.Fatalf("%v: got %q and %v", order, got, err)
		}
		want := record.Info{LinkType: 147, Time: time.Unix(77, 0), Length: 40}
		if got, err := r.Info(); got != want || err != nil {
			t.Errorf("%v: got %+v and %v, want %+v", order, got, err, want)
		}
		if on := r.Interface(); on == nil || on.Name != "eth09" || on.Description != "why" {
			t.Errorf("%v: got the interface %+v", order, on)
		}
		if _, err := r.Next(); !errors.Is(err, io.EOF) {
			t.Errorf("%v: got %v at the end", order, err)
		}
	}
}
