// SPDX-License-Identifier: Apache-2.0

// Package sanitize makes text safe to show: on a terminal and in a log it can
// only be read, wherever it comes from.
//
// Text that came from a peer or from a file passes through here wherever it
// becomes part of a line: in Error and String methods, and again where a command
// prints the line. What is safe already stays as it is, so passing twice changes
// nothing that Text has not quoted.
//
// Safe are the characters that unicode.IsPrint reports: no controls, no line ends
// but the one that the program writes, no characters that turn the direction of
// text, no bytes that are not UTF-8.
//
// Imports: the standard library.
package sanitize

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Text returns a name, or another text of a stranger that stands within a line:
// as it is, or quoted if it would not be safe or would look like a quoted one.
func Text(s string) string {
	if quoted := strconv.Quote(s); len(quoted) != len(s)+2 {
		return quoted
	}
	return s
}

// maxSome is how many things Some names.
const maxSome = 8

// Some lists things, the first ones by their names: "a, b and 3 more".
func Some[T fmt.Stringer](all []T) string {
	var b strings.Builder
	for i, x := range all[:min(len(all), maxSome)] {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(Text(x.String()))
	}
	if more := len(all) - maxSome; more > 0 {
		fmt.Fprintf(&b, " and %d more", more)
	}
	return b.String()
}

// Line returns a line that has texts of others in it. What is not safe is
// escaped where it stands; the line feeds between joined errors become "; ".
func Line(s string) string {
	if printable(s) {
		return s
	}
	var b strings.Builder
	for i, r := range s {
		switch _, size := utf8.DecodeRuneInString(s[i:]); {
		case r == '\n':
			b.WriteString("; ")
		case r == utf8.RuneError && size == 1: // one byte that is no rune
			b.WriteString(escaped(s[i : i+1]))
		case unicode.IsPrint(r):
			b.WriteRune(r)
		default:
			b.WriteString(escaped(string(r)))
		}
	}
	return b.String()
}

// Linef is Line of what fmt.Sprintf makes.
func Linef(format string, args ...any) string { return Line(fmt.Sprintf(format, args...)) }

// Cut returns a text of at most limit bytes: all of s, or what of it is whole
// characters and has room before "...".
//
//   - limit: at least 3.
func Cut(s string, limit int) string {
	const mark = "..."
	if len(s) <= limit {
		return s
	}
	end := limit - len(mark)
	for end > 0 && !utf8.RuneStart(s[end]) && limit-len(mark)-end < utf8.UTFMax {
		end--
	}
	return s[:end] + mark
}

// Error returns the text of an error as a line. A nil error has the text that fmt
// gives it.
func Error(err error) string {
	if err == nil {
		return "<nil>"
	}
	return Line(err.Error())
}

func escaped(s string) string {
	quoted := strconv.Quote(s)
	return quoted[1 : len(quoted)-1]
}

func printable(s string) bool {
	return utf8.ValidString(s) && !strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsPrint(r) })
}
