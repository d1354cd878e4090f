// SPDX-License-Identifier: Apache-2.0

package record_test

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"errors"
	"io"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"tagbus/cmd/internal/record"
)

func TestFilesInPlaceOfACaptureAreNamed(t *testing.T) {
	var gzipped bytes.Buffer
	z := gzip.NewWriter(&gzipped)
	_, err := z.Write(slices.Concat(section, counting(9), packetAt(0, 1)))
	if err = errors.Join(err, z.Close()); err != nil {
		t.Fatal(err)
	}
	erf := binary.LittleEndian.AppendUint64(nil, 1_700_000_000<<32)
	erf = append(erf, 2, 4, 0, 80, 0, 0, 0, 60, 0, 0)
	magic := func(n uint32) string { return string(binary.LittleEndian.AppendUint32(nil, n)) }
	swapped := func(n uint32) string { return string(binary.BigEndian.AppendUint32(nil, n)) }
	tests := []struct{ name, head, want string }{
		{"modified pcap", magic(0xa1b2cd34), "a modified pcap (magic a1b2cd34"},
		{"modified pcap in the other order", swapped(0xa1b2cd34), "a modified pcap (magic a1b2cd34"},
		{"Mesquita", magic(0xa1b234cd), "a modified pcap (magic a1b234cd"},
		{"Navtel", swapped(0xa12b3c4d), "a modified pcap of Navtel"},
		{"Ixia", magic(0x1c0001ac), "a modified pcap of Ixia hardware"},
		{"pcapng in gzip", gzipped.String(), "compressed with gzip: unpack it, for example with zcat"},
		{"xz", "\xfd7zXZ\x00", "compressed with xz: unpack it, for example with xzcat"},
		{"zstd", "\x28\xb5\x2f\xfd", "compressed with zstd: unpack it, for example with zstdcat"},
		{"lz4", "\x04\x22\x4d\x18", "compressed with lz4"},
		{"bzip2", "BZh91AY", "compressed with bzip2"},
		{"zip", "PK\x03\x04", "a zip archive"},
		{"snoop", "snoop\x00\x00\x00\x00\x00\x00\x02", "a capture of snoop"},
		{"Network Monitor", "GMBU", "a capture of Microsoft Network Monitor 2"},
		{"ERF", string(erf), "it looks like a capture in ERF"},
		{"MCAP", "\x89MCAP0\r\n", "an MCAP file"},
		{"a recording", "\x8aTBR\r\n\x1a\n", "a recording of tagbus, not a capture"},
		{"text", "Hello, world. This is no capture.", "it begins with 48656c6c, which is neither pcap nor pcapng"},
		{"zeros", string(make([]byte, 200)), "it begins with 00000000, which is neither pcap nor pcapng"},
		{"another version of pcap", magic(0xa1b2c3d4) + "\x03\x00\x00\x00" + string(make([]byte, 16)), "pcap version 3.0, and this program reads 2"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			_, err := record.NewReader(format(t, "pcap"), strings.NewReader(test.head+string(make([]byte, 100*min(1, len(test.name)%2)))), 100)
			if !errors.Is(err, record.ErrDamaged) || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want %q", err, test.want)
			}
		})
	}
}

// classic returns a pcap file with one packet.
func classic(order binary.AppendByteOrder, magic uint32, minor uint16, linkType, first, second uint32) []byte {
	b := order.AppendUint32(nil, magic)
	b = order.AppendUint16(order.AppendUint16(b, 2), minor)
	b = order.AppendUint32(append(b, make([]byte, 8)...), 65535)
	b = order.AppendUint32(b, linkType)
	for _, n := range []uint32{1_700_000_000, 123_456, first, second} {
		b = order.AppendUint32(b, n)
	}
	return append(b, "data"...)
}

func TestKindsOfPcap(t *testing.T) {
	tests := []struct {
		name   string
		magic  uint32
		minor  uint16
		link   uint32
		first  uint32
		second uint32
		want   record.Info
	}{
		{"microseconds", 0xa1b2c3d4, 4, 1, 4, 60, record.Info{LinkType: 1, Time: time.Unix(1_700_000_000, 123_456_000), Length: 60}},
		{"nanoseconds", 0xa1b23c4d, 4, 113, 4, 4, record.Info{LinkType: 113, Time: time.Unix(1_700_000_000, 123_456), Length: 4}},
		{"with checksums of frames", 0xa1b2c3d4, 4, 0x14000000 | 1, 4, 4, record.Info{LinkType: 1, Time: time.Unix(1_700_000_000, 123_456_000), Length: 4}},
		{"version 2.3 with the lengths swapped", 0xa1b2c3d4, 3, 1, 60, 4, record.Info{LinkType: 1, Time: time.Unix(1_700_000_000, 123_456_000), Length: 60}},
		{"version 2.2", 0xa1b2c3d4, 2, 1, 60, 4, record.Info{LinkType: 1, Time: time.Unix(1_700_000_000, 123_456_000), Length: 60}},
	}
	for _, test := range tests {
		for _, order := range []binary.AppendByteOrder{binary.LittleEndian, binary.BigEndian} {
			got := readPackets(t, classic(order, test.magic, test.minor, test.link, test.first, test.second))
			if len(got) != 1 || got[0].Info != test.want || string(got[0].Data) != "data" {
				t.Errorf("%s, %v: got %+v, want %+v", test.name, order, got, test.want)
			}
		}
	}
}

// TestAPacketOfMoreThanItsLength: the lengths contradict each other, and the next packet is
// read.
func TestAPacketOfMoreThanItsLength(t *testing.T) {
	file := classic(binary.LittleEndian, 0xa1b2c3d4, 4, 1, 4, 2)
	file = append(file, file[24:]...)
	r, err := record.NewReader(format(t, "pcap"), bytes.NewReader(file), 100)
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if _, err := r.Next(); err != nil {
			t.Fatal(err)
		}
		const want = "4 bytes were captured of a packet of 2"
		if _, err := r.Info(); !errors.Is(err, record.ErrDamaged) || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}

func TestDamagedPcapng(t *testing.T) {
	option := func(code, size uint16) []byte {
		return block(1, uint16(1), uint16(0), uint32(0), code, size, [4]byte{1, 2, 3, 4})
	}
	tests := []struct {
		name  string
		after []byte
		want  string
	}{
		{"a block shorter than a block", []byte{9, 0, 0, 0, 8, 0, 0, 0, 0, 0, 0, 0}, "a block of 8 bytes"},
		{"a block of odd size", []byte{9, 0, 0, 0, 13, 0, 0, 0, 0, 0, 0, 0, 0}, "a block of 13 bytes"},
		{"a packet of no interface", packetAt(0, 1), "a packet of interface 0, and the section has 0"},
		{"a simple packet of no interface", block(3, uint32(4), [4]byte{}), "a packet of interface 0, and the section has 0"},
		{"an interface of the section before", slices.Concat(counting(9), section, packetAt(0, 1)), "a packet of interface 0, and the section has 0"},
		{"a short interface", block(1, uint32(0)), "an interface of 4 bytes"},
		{"a short packet", slices.Concat(counting(9), block(6, uint32(0))), "a packet in a block of 4 bytes"},
		{"a packet larger than its block", slices.Concat(counting(9), block(6, uint32(0), uint32(0), uint32(0), uint32(50), uint32(50), [4]byte{})), "a packet of 50 bytes in a block with room for 4"},
		{"an option beyond the end", option(2, 9), "interface 0: option 2 has 4 of 9 bytes"},
		{"a resolution of two bytes", option(9, 2), "interface 0: the resolution of its times has 2 bytes, want 1"},
		{"an offset of four bytes", option(14, 4), "interface 0: the offset of its times has 4 bytes, want 8"},
		{"a byte order that is none", block(0x0a0d0d0a, uint32(7), [12]byte{}), "a section of pcapng with the byte order 07000000"},
		{"another version", block(0x0a0d0d0a, uint32(0x1a2b3c4d), uint16(2), uint16(0), int64(-1)), "pcapng version 2.0, and this program reads 1"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			_, err := readAll(format(t, "pcapng"), bytes.NewReader(slices.Concat(section, test.after)), 100)
			if !errors.Is(err, record.ErrDamaged) || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want %q", err, test.want)
			}
		})
	}
}

// TestWhatACaptureClaimsTakesNoMemory: only the bytes that are there do.
func TestWhatACaptureClaimsTakesNoMemory(t *testing.T) {
	const most = 1 << 30
	huge := slices.Concat(section, counting(9), block(6, uint32(0), uint32(0), uint32(0), uint32(most), uint32(most)))
	binary.LittleEndian.PutUint32(huge[len(section)+len(counting(9))+4:], most+32)
	for name, file := range map[string][]byte{
		"a packet of pcap":        classic(binary.LittleEndian, 0xa1b2c3d4, 4, 1, most, most),
		"a packet of pcapng":      huge,
		"a block that is skipped": slices.Concat(section, []byte{9, 0, 0, 0, 0, 0, 0, 0x40}),
		"many interfaces":         slices.Concat(section, bytes.Repeat(block(1, uint32(1), uint32(0)), 50_000)),
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := readAll(format(t, "pcap"), bytes.NewReader(file), most)
		runtime.ReadMemStats(&after)
		if !errors.Is(err, record.ErrTruncated) && !errors.Is(err, io.EOF) {
			t.Errorf("%s: got %v", name, err)
		}
		if got, want := after.TotalAlloc-before.TotalAlloc, uint64(16*len(file)+1<<20); got > want {
			t.Errorf("%s: got %d bytes allocated for %d, want at most %d", name, got, len(file), want)
		}
	}
}
