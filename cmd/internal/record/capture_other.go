// SPDX-License-Identifier: Apache-2.0

package record

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
)

// SniffBytes is how much Sniff looks at.
const SniffBytes = 64

// other is a format that is not read.
type other struct{ magic, words string }

// recordingMagic begins a recording of tagbus.
const recordingMagic = "\x8aTBR\r\n\x1a\n"

// others are formats that people have in place of pcap, by their first bytes. Those of pcap
// come in both byte orders.
var others = []other{
	{"\x1f\x8b", "compressed with gzip: unpack it, for example with zcat"},
	{"\xfd7zXZ\x00", "compressed with xz: unpack it, for example with xzcat"},
	{"\x28\xb5\x2f\xfd", "compressed with zstd: unpack it, for example with zstdcat"},
	{"\x04\x22\x4d\x18", "compressed with lz4: unpack it, for example with lz4cat"},
	{"BZh", "compressed with bzip2: unpack it, for example with bzcat"},
	{"PK\x03\x04", "a zip archive: unpack it first"},
	{"snoop\x00\x00\x00", "a capture of snoop (Solaris): editcap -F pcapng IN OUT converts it"},
	{"btsnoop\x00", "a capture of btsnoop (Bluetooth): editcap -F pcapng IN OUT converts it"},
	{"GMBU", "a capture of Microsoft Network Monitor 2: editcap -F pcapng IN OUT converts it"},
	{"RTSS", "a capture of Microsoft Network Monitor 1: editcap -F pcapng IN OUT converts it"},
	{"TRSNIFF data    \x1a", "a capture of NetXRay or Sniffer: editcap -F pcapng IN OUT converts it"},
	{"XCP\x00", "a capture of NetXRay: editcap -F pcapng IN OUT converts it"},
	{"\x89MCAP0\r\n", "an MCAP file, not a capture of packets"},
	{recordingMagic, "a recording of tagbus, not a capture: tagbus replay publishes it, and tagbus rec reads it"},
}

// otherPcaps are pcap files that are not as all others, by their magic numbers.
var otherPcaps = map[uint32]string{
	0xa1b2cd34: "a modified pcap (magic a1b2cd34, of Kuznetzov's patch for Linux), whose packets have longer headers: editcap -F pcapng IN OUT converts it",
	0xa1b234cd: "a modified pcap (magic a1b234cd, of Mesquita's patch), whose packets have longer headers: editcap -F pcapng IN OUT converts it",
	0xa12b3c4d: "a modified pcap of Navtel (magic a12b3c4d): editcap -F pcapng IN OUT converts it",
	0x1c0001ac: "a modified pcap of Ixia hardware (magic 1c0001ac): editcap -F pcapng IN OUT converts it",
	0x1c0001ab: "a modified pcap of Ixia software (magic 1c0001ab): editcap -F pcapng IN OUT converts it",
}

// Sniff says what a file is that begins with some bytes, if it is one that people have in
// place of a capture in pcap or pcapng, and what to do about it; "": that is not known.
func Sniff(head []byte) string {
	for _, o := range others {
		if bytes.HasPrefix(head, []byte(o.magic)) {
			return o.words
		}
	}
	if len(head) < magicBytes {
		return ""
	}
	for _, order := range []binary.ByteOrder{binary.LittleEndian, binary.BigEndian} {
		if words := otherPcaps[order.Uint32(head)]; words != "" {
			return words
		}
	}
	if isCapture(head) || !isERF(head) {
		return ""
	}
	return "it looks like a capture in ERF (Endace): editcap -F pcapng IN OUT converts it"
}

// IsCapture reports whether a file that begins with some bytes is a capture in pcap or
// pcapng, or one of the files in place of it that Sniff knows, but no recording.
func IsCapture(head []byte) bool {
	return len(head) >= magicBytes && !bytes.HasPrefix(head, []byte(recordingMagic)) && (isCapture(head) || Sniff(head) != "")
}

func isCapture(head []byte) bool {
	switch binary.LittleEndian.Uint32(head) {
	case blockSection, magicPcapMicros, magicPcapNanos:
		return true
	}
	n := binary.BigEndian.Uint32(head)
	return n == magicPcapMicros || n == magicPcapNanos
}

// isERF reports whether a record of ERF seems to begin here: it has no magic number. Its time
// is little-endian, in units of 2^-32 s, and the rest is big-endian.
func isERF(head []byte) bool {
	const recordBytes, mostType, year2000, year2100 = 16, 48, 946_684_800, 4_102_444_800
	if len(head) < recordBytes+2 {
		return false
	}
	seconds, kind := binary.LittleEndian.Uint32(head[4:]), head[8]&0x7f
	size, wire := binary.BigEndian.Uint16(head[10:]), binary.BigEndian.Uint16(head[14:])
	return seconds > year2000 && seconds < year2100 && kind > 0 && kind <= mostType && size >= recordBytes && size <= wire+64 && head[9]&0xc0 == 0
}

// isEnd reports whether the input has ended.
func isEnd(err error) bool { return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) }
