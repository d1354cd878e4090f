// SPDX-License-Identifier: Apache-2.0

//go:build linux

package screen_test

import (
	"testing"
	"unicode"

	"github.com/google/go-cmp/cmp"

	"tagbus/cmd/internal/screen"
)

// typed returns the keys of bytes.
//
//   - flush: nothing follows.
func typed(bytes string, flush bool) (keys []screen.Key) {
	var p screen.Parser
	emit := func(k screen.Key) { keys = append(keys, k) }
	p.Feed([]byte(bytes), emit)
	if flush {
		p.Flush(emit)
	}
	return keys
}

func TestKeys(t *testing.T) {
	tests := []struct {
		name, bytes string
		want        []screen.Key
	}{
		{"characters", "aZ/?", []screen.Key{'a', 'Z', '/', '?'}},
		{"characters of several bytes", "é世\U0001F600", []screen.Key{'é', '世', '\U0001F600'}},
		{"control keys", "\r\n\x7f\x08\x15\x03\x1a\x0c", []screen.Key{
			screen.Enter, screen.Enter, screen.Backspace, screen.Backspace, screen.ClearLine, screen.Quit, screen.Suspend, screen.Redraw,
		}},
		{"a control key that means nothing", "a\x01\x00b", []screen.Key{'a', 'b'}},
		{"arrows", "\x1b[A\x1b[B\x1b[C\x1b[D", []screen.Key{screen.Up, screen.Down, screen.Right, screen.Left}},
		{"arrows of an application", "\x1bOA\x1bOB\x1bOH\x1bOF\x1bOM", []screen.Key{screen.Up, screen.Down, screen.Home, screen.End, screen.Enter}},
		{"pages and ends", "\x1b[5~\x1b[6~\x1b[H\x1b[F\x1b[1~\x1b[4~\x1b[7~\x1b[8~", []screen.Key{
			screen.PageUp, screen.PageDown, screen.Home, screen.End, screen.Home, screen.End, screen.Home, screen.End,
		}},
		{"with shift and control", "\x1b[1;2A\x1b[6;5~", []screen.Key{screen.Up, screen.PageDown}},
		{"escape", "\x1b", []screen.Key{screen.Escape}},
		{"escape twice", "\x1b\x1b", []screen.Key{screen.Escape, screen.Escape}},
		{"escape and a character", "\x1bq", []screen.Key{screen.Escape, 'q'}},
		{"an unknown sequence", "\x1b[15~\x1b[Z\x1b[200~\x1bOPx", []screen.Key{'x'}},
		{"a report of the mouse", "\x1b[<0;10;20Mx", []screen.Key{'x'}},
		{"a sequence that does not end", "\x1b[12", nil},
		{"a sequence within one", "\x1b[1\x1b[A", []screen.Key{screen.Up}},
		{"a control key within a sequence", "\x1b[1\x03", []screen.Key{screen.Quit}},
		{"a long sequence", "\x1b[1;1;1;1;1;1;1;1;1;1;1;1;1;1;1Ax", []screen.Key{'x'}},
		{"no UTF-8", "\xffa\x80b\xc3c\xe4\xb8d", []screen.Key{'a', 'b', 'c', 'd'}},
		{"a character that begins", "a\xe4\xb8", []screen.Key{'a'}},
		{"what cannot be printed", "\u202e\u0085a", []screen.Key{'a'}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, typed(test.bytes, true)); diff != "" {
				t.Errorf("%q: keys (-want +got):\n%s", test.bytes, diff)
			}
		})
	}
}

// FuzzKeys: whatever comes, and in whatever pieces, is the same keys; there are no more of
// them than bytes, and characters can be printed.
func FuzzKeys(f *testing.F) {
	for _, seed := range []string{"q", "\x1b[A\x1b[5~\x1bOH", "\x1b\x1b[1;5Bé", "\xe4\xb8\x1b[\x03", "\x1b[1;1;1;1;1;1;1;1;1;1;1;1A", "\x1b[<0;1;2m"} {
		f.Add(seed, 1)
	}
	f.Fuzz(func(t *testing.T, bytes string, cut int) {
		whole := typed(bytes, true)
		if len(whole) > len(bytes) {
			t.Errorf("got %d keys of %d bytes", len(whole), len(bytes))
		}
		for _, k := range whole {
			if k >= 0 && !unicode.IsPrint(rune(k)) || k < screen.Resize {
				t.Errorf("got key %d", k)
			}
		}
		var keys []screen.Key
		var p screen.Parser
		emit := func(k screen.Key) { keys = append(keys, k) }
		at := 0
		if len(bytes) > 0 && cut > 0 {
			at = cut % len(bytes)
		}
		p.Feed([]byte(bytes[:at]), emit)
		p.Feed([]byte(bytes[at:]), emit)
		p.Flush(emit)
		if diff := cmp.Diff(whole, keys); diff != "" {
			t.Errorf("in pieces (-whole +pieces):\n%s", diff)
		}
		if p.Pending() {
			t.Error("got something pending behind Flush, want nothing")
		}
	})
}
