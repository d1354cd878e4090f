// SPDX-License-Identifier: Apache-2.0

package objects

import (
	"strings"
	"unicode/utf8"
)

// MaxText bounds a text of options or tags, in bytes.
const MaxText = 1 << 20

// CheckText says what is wrong with a text that a program has given.
//
//   - argument: its name.
func CheckText(argument, text string) error {
	switch {
	case len(text) > MaxText:
		return invalid("%s has more than %d bytes", argument, MaxText)
	case !utf8.ValidString(text):
		return invalid("%s is not UTF-8: %.60q", argument, text)
	}
	return nil
}

// Words splits a text into words as a shell does: at blanks, unless they are within quotes or
// behind a backslash. Nothing is expanded.
func Words(text string) (words []string, err error) {
	var word strings.Builder
	begun := false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; c {
		case ' ', '\t', '\n', '\r':
			if begun {
				words = append(words, word.String())
				word.Reset()
			}
			begun = false
		case '\\':
			if i++; i == len(text) {
				return nil, invalid("options end with a backslash: %.60q", text)
			}
			word.WriteByte(text[i])
			begun = true
		case '\'', '"':
			begun = true
			n, ok := quoted(&word, text[i+1:], c)
			if !ok {
				return nil, invalid("options lack a closing %c: %.60q", c, text[i:])
			}
			i += n
		default:
			word.WriteByte(c)
			begun = true
		}
	}
	if begun {
		words = append(words, word.String())
	}
	return words, nil
}

// quoted adds what stands before the closing quote. It returns how much of text that is, with the
// quote.
func quoted(word *strings.Builder, text string, quote byte) (n int, ok bool) {
	for n < len(text) {
		c := text[n]
		n++
		switch {
		case c == quote:
			return n, true
		case c == '\\' && quote == '"' && n < len(text) && strings.IndexByte("\"\\$`", text[n]) >= 0:
			c = text[n]
			n++
		}
		word.WriteByte(c)
	}
	return n, false
}
