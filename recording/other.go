// SPDX-License-Identifier: Apache-2.0

package recording

import (
	"bytes"
	"fmt"
)

// others are what people give in place of recordings, by the first bytes, and what to do about it.
var others = []struct{ magic, words string }{
	{"\x1f\x8b", "compressed with gzip: unpack it, for example with zcat"},
	{"\xfd7zXZ\x00", "compressed with xz: unpack it, for example with xzcat"},
	{"\x28\xb5\x2f\xfd", "compressed with zstd: unpack it, for example with zstdcat"},
	{"\x04\x22\x4d\x18", "compressed with lz4: unpack it, for example with lz4cat"},
	{"BZh", "compressed with bzip2: unpack it, for example with bzcat"},
	{"PK\x03\x04", "a zip archive: unpack it"},
	{"\x89MCAP0\r\n", "an MCAP file, of which no recording can be made: take the recording that it was made of"},
	{"\x0a\x0d\x0d\x0a", "a capture: tagbus rec convert makes a recording of it"}, // pcapng, and pcap
	{"\xd4\xc3\xb2\xa1", "a capture: tagbus rec convert makes a recording of it"},
	{"\xa1\xb2\xc3\xd4", "a capture: tagbus rec convert makes a recording of it"},
	{"\x4d\x3c\xb2\xa1", "a capture: tagbus rec convert makes a recording of it"},
	{"\xa1\xb2\x3c\x4d", "a capture: tagbus rec convert makes a recording of it"},
	{"TBRb", "the rest of a recording, without its beginning: copy it again"},
}

// notRecording returns ErrNotRecording, wrapped with what a file is if its first bytes say it.
func notRecording(begin []byte) error {
	for _, o := range others {
		if bytes.HasPrefix(begin, []byte(o.magic)) {
			return fmt.Errorf("%w: it is %s", ErrNotRecording, o.words)
		}
	}
	return ErrNotRecording
}
