// SPDX-License-Identifier: Apache-2.0

//go:build linux

package screen

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// wide are the characters that take two columns: those of East Asia, and pictures.
var wide = &unicode.RangeTable{
	R16: []unicode.Range16{
		{0x1100, 0x115f, 1},
		{0x231a, 0x231b, 1},
		{0x2329, 0x232a, 1},
		{0x23e9, 0x23ec, 1},
		{0x2614, 0x2615, 1},
		{0x26a1, 0x26a1, 1},
		{0x2705, 0x2705, 1},
		{0x274c, 0x274c, 1},
		{0x2e80, 0x303e, 1},
		{0x3041, 0x33ff, 1},
		{0x3400, 0x4dbf, 1},
		{0x4e00, 0x9fff, 1},
		{0xa000, 0xa4cf, 1},
		{0xa960, 0xa97f, 1},
		{0xac00, 0xd7a3, 1},
		{0xf900, 0xfaff, 1},
		{0xfe30, 0xfe6f, 1},
		{0xff00, 0xff60, 1},
		{0xffe0, 0xffe6, 1},
	},
	R32: []unicode.Range32{
		{0x16fe0, 0x18aff, 1},
		{0x1b000, 0x1b2ff, 1},
		{0x1f200, 0x1f2ff, 1},
		{0x1f300, 0x1f64f, 1},
		{0x1f680, 0x1f6ff, 1},
		{0x1f900, 0x1f9ff, 1},
		{0x20000, 0x3fffd, 1},
	},
}

// columns returns how many columns a printable character takes.
func columns(r rune) int {
	switch {
	case r < 0x300:
		return 1
	case unicode.In(r, unicode.Mn, unicode.Me):
		return 0
	case unicode.Is(wide, r):
		return 2
	default:
		return 1
	}
}

// Width returns how many columns a printable text takes.
func Width(s string) (n int) {
	for _, r := range s {
		n += columns(r)
	}
	return n
}

// Cut returns s if it takes at most limit columns, or else its beginning with ~ in the
// last column.
func Cut(s string, limit int) string {
	if limit <= 0 {
		return ""
	}
	if len(s) <= limit || Width(s) <= limit {
		return s
	}
	used := 0
	for i, r := range s {
		if used+columns(r) > limit-1 {
			return s[:i] + "~"
		}
		used += columns(r)
	}
	return s
}

// AlignLeft returns s in so many columns: cut, or with blanks behind it.
func AlignLeft(s string, width int) string {
	s = Cut(s, width)
	return s + blanks(width-Width(s))
}

// AlignRight returns s in so many columns: cut, or with blanks before it.
func AlignRight(s string, width int) string {
	s = Cut(s, width)
	return blanks(width-Width(s)) + s
}

func blanks(n int) string { return strings.Repeat(" ", max(0, n)) }

// WithoutLast returns s without its last character.
func WithoutLast(s string) string {
	_, size := utf8.DecodeLastRuneInString(s)
	return s[:len(s)-size]
}
