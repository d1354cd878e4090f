// SPDX-License-Identifier: Apache-2.0

package record_test

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tagbus/cmd/internal/record"
)

// TestPacketsOfAnyLinkTypeAreRead uses a pcapng file whose second interface has
// another link type than its first, with a packet on each.
func TestPacketsOfAnyLinkTypeAreRead(t *testing.T) {
	file, err := os.ReadFile(filepath.Join("testdata", "two-link-types.pcapng"))
	if err != nil {
		t.Fatal(err)
	}
	got, err := readAll(format(t, "pcap"), bytes.NewReader(file), 100)
	if diff := cmp.Diff([]string{"ethernet", "user"}, got); diff != "" || !errors.Is(err, io.EOF) {
		t.Errorf("got error %v, want %v; records differ (-want +got):\n%s", err, io.EOF, diff)
	}
}

func TestTruncatedCaptures(t *testing.T) {
	for _, text := range []string{"pcap", "pcapng"} {
		file := writeAll(t, format(t, text), "first packet", "second packet")
		whole := 0
		for n := range len(file) {
			records, err := readAll(format(t, text), bytes.NewReader(file[:n]), 100)
			if !errors.Is(err, record.ErrTruncated) && !errors.Is(err, io.EOF) && n >= 4 {
				t.Errorf("%s cut at %d of %d: got %v, want %v", text, n, len(file), err, record.ErrTruncated)
			}
			if errors.Is(err, io.EOF) {
				whole++
			}
			if len(records) > 1 {
				t.Errorf("%s cut at %d of %d: got records %q, want at most the first", text, n, len(file), records)
			}
		}
		if whole > 3 {
			t.Errorf("%s: %d cuts were taken for the end, want at most those between packets", text, whole)
		}
	}
}

func TestCapturePacketAboveTheLimit(t *testing.T) {
	for _, size := range []int{101, 200_000, 3 << 20} {
		file := writeAll(t, format(t, "pcapng"), "ok", strings.Repeat("x", size))
		got, err := readAll(format(t, "pcapng"), bytes.NewReader(file), 100)
		if len(got) != 1 || !errors.Is(err, record.ErrTooLong) {
			t.Errorf("packet of %d bytes: got %d records and %v, want 1 and %v", size, len(got), err, record.ErrTooLong)
		}
	}
}

// TestACaptureThatEndsBeforeItsPacket: the library returns its whole buffer then.
func TestACaptureThatEndsBeforeItsPacket(t *testing.T) {
	file := writeAll(t, format(t, "pcap"), "first packet", "second packet")
	_, err := readAll(format(t, "pcap"), bytes.NewReader(file[:len(file)-len("second packet")]), 100)
	const want = "record 2: input ends within a record: 13 bytes announced, 0 there"
	if err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}
