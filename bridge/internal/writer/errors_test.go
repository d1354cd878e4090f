// SPDX-License-Identifier: Apache-2.0

package writer_test

import (
	"errors"
	"strings"
	"testing"
	"unicode"

	"tagbus/bridge/durable"
	"tagbus/bridge/internal/writer"
)

// TestErrors are lines that are safe to show, whatever a peer or a server calls itself, and say what to do.
func TestErrors(t *testing.T) {
	hostile := "x\x1b[2J\nall is well\r\x00\u202e\x9b"
	cause := errors.New(hostile)
	for _, test := range []struct {
		err  error
		text string
	}{
		{&writer.ForeignError{Log: hostile, Key: durable.Key{Tag: 1, Instance: hostile}, Position: 7, Err: cause}, "entry 7"},
		{&writer.UnwrittenError{Log: hostile, Messages: 9, Err: cause}, "9 messages are not known to be stored"},
		{&writer.TooLargeError{Log: hostile, Tag: 1, Counter: 5, Size: 100, Limit: 50}, "raise the limit of the log"},
		{&durable.GapError{Log: hostile, Want: 2, First: 4}, "start at 4"},
	} {
		text := test.err.Error()
		if !strings.Contains(text, test.text) || strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsPrint(r) }) {
			t.Errorf("got %q, want one printable line with %q", text, test.text)
		}
	}
	if !errors.Is(&writer.ForeignError{Err: cause}, cause) || !errors.Is(&writer.UnwrittenError{Err: cause}, cause) {
		t.Error("the cause is not found")
	}
}
