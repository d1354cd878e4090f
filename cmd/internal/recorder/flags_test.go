// SPDX-License-Identifier: Apache-2.0

//go:build linux

package recorder

import (
	"strings"
	"testing"

	"tagbus/cmd/internal/tool/tooltest"
)

func TestFlagsThatMakeNoSense(t *testing.T) {
	for _, test := range []struct{ line, want string }{
		{"5 -", `FILE: got "-", want the name of a file or of a FIFO`},
		{"5 x --rotate-every=-1s", "--rotate-every: got -1s, want a positive time"},
		{"5 x --duration=-1s", "--duration: got -1s, want a positive time"},
		{"5 x --flush-every=-1s", "--flush-every: got -1s, want a positive time"},
		{"5 x --flush-every 0s", "--flush-every: got 0, want a positive time: each flush makes a block"},
		{"5 x --queue-bytes 100KiB", "--queue-bytes: got 100 KiB, want at least 128 KiB"},
		{"5 x --replay=-1", "Replay"},
		{"5 x --codec gzip", `codec gzip`},
		{"5 x --fsync 0s", `got "0s", want never, block, rotate, end, or a time such as 1s`},
	} {
		if _, err := tooltest.Read[Command](test.line); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: got %v, want an error with %q", test.line, err, test.want)
		}
	}
}

// TestTheQueueIsOfBlocks: no more memory than --queue-bytes, in at least two blocks.
func TestTheQueueIsOfBlocks(t *testing.T) {
	for _, test := range []struct {
		line     string
		n, bytes int
	}{
		{"5 x", 8, 1 << 20},
		{"5 x --queue-bytes 1GiB", 1024, 1 << 20},
		{"5 x --queue-bytes 1MiB", 2, 512 << 10},
		{"5 x --queue-bytes 128KiB", 2, 64 << 10},
	} {
		c := tooltest.MustRead[Command](t, test.line)
		if n, bytes := c.blocks(); n != test.n || bytes != test.bytes {
			t.Errorf("%s: got %d blocks of %d bytes, want %d of %d", test.line, n, bytes, test.n, test.bytes)
		}
	}
}

func TestFsync(t *testing.T) {
	for text, want := range map[string]Fsync{
		"never": {}, "end": {last: true}, "rotate": {part: true, last: true},
		"block": {block: true, part: true, last: true}, "2s": {part: true, last: true, every: 2e9},
	} {
		var got Fsync
		if err := got.UnmarshalText([]byte(text)); err != nil || got != want {
			t.Errorf("%s: got %+v, %v want %+v", text, got, err, want)
		}
	}
}
