// SPDX-License-Identifier: Apache-2.0

package tags

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// Parse reads a tag from one of the three forms that detector software uses:
//
//	1152922810278051840     decimal
//	0x1000013000118000      hexadecimal, either case
//	1/0/19/0/0/17/1/0/0     version/detector/connector/virtual/link/elink/direction/protocol/stream
//
// Each of the nine fields is decimal or hexadecimal; direction may also be the word
// toHost or toDetector, in any case. There are no signs, blanks or underscores, and
// a decimal does not begin with 0, because C programs read such a number as octal.
//
//   - Errors: *ParseError, with ErrSyntax, ErrOverflow or a *FieldError inside.
func Parse(s string) (Tag, error) {
	t, offset, err := parseTag(s)
	if err != nil {
		return 0, &ParseError{Input: s, Offset: offset, Err: err}
	}
	return t, nil
}

// parseTag is Parse with the offset of the error in s.
func parseTag(s string) (t Tag, offset int, err error) {
	if !strings.Contains(s, "/") {
		v, err := parseNumber(s)
		return Tag(v), 0, err
	}
	value, mask, offset, err := parseSlashed(s)
	if err != nil {
		return 0, offset, err
	}
	if mask != MaxTag {
		return 0, strings.IndexByte(s, '*'), fmt.Errorf("%w: a wildcard names many tags where one is wanted", ErrSyntax)
	}
	return value, 0, nil
}

// parseSlashed reads the slash form, in which a field may be "*": its bits are then
// zero in value and in mask.
func parseSlashed(s string) (value, mask Tag, offset int, err error) {
	rest, more := s, true
	for i, f := range layout {
		if !more {
			return 0, 0, len(s), fmt.Errorf("%w: %d fields separated by slashes, want %d (%s)", ErrSyntax, i, fieldCount, slashForm)
		}
		var text string
		text, rest, more = strings.Cut(rest, "/")
		if text != "*" {
			v, err := parseField(i, text)
			if err != nil {
				return 0, 0, offset, err
			}
			value |= Tag(v << f.shift)
			mask |= f.mask()
		}
		offset += len(text) + 1
	}
	if more {
		return 0, 0, offset, fmt.Errorf("%w: more than %d fields separated by slashes (%s)", ErrSyntax, fieldCount, slashForm)
	}
	return value, mask, 0, nil
}

const slashForm = "version/detector/connector/virtual/link/elink/direction/protocol/stream"

// parseField reads the text of the field layout[i] and checks its limit.
func parseField(i int, text string) (uint64, error) {
	if i == fieldDirection {
		for _, d := range []Direction{ToHost, ToDetector} {
			if strings.EqualFold(text, d.String()) {
				return uint64(d), nil
			}
		}
	}
	v, err := parseNumber(text)
	if err != nil {
		return 0, fmt.Errorf("%w (field %s)", err, layout[i].name)
	}
	if limit := layout[i].limit(); v > limit {
		return 0, &FieldError{Field: layout[i].name, Value: v, Limit: limit}
	}
	return v, nil
}

// parseNumber reads a decimal or 0x number of 64 bits.
func parseNumber(s string) (uint64, error) {
	digits, base := s, 10
	switch {
	case s == "":
		return 0, fmt.Errorf("%w: a number is missing", ErrSyntax)
	case len(s) > 1 && s[0] == '0' && (s[1] == 'x' || s[1] == 'X'):
		digits, base = s[2:], 16
	case len(s) > 1 && s[0] == '0':
		return 0, fmt.Errorf("%w: a leading 0 means octal to some programs; write decimal without it, or 0x", ErrSyntax)
	}
	v, err := strconv.ParseUint(digits, base, 64)
	switch {
	case err == nil:
		return v, nil
	case errors.Is(err, strconv.ErrRange):
		return 0, ErrOverflow
	default:
		return 0, fmt.Errorf("%w: want a decimal or 0x number", ErrSyntax)
	}
}

// String returns the canonical text: 0x and 16 hexadecimal digits.
func (t Tag) String() string { return string(t.appendHex(make([]byte, 0, hexBytes))) }

// hexBytes is the length of the canonical text.
const hexBytes = len("0x0000000000000000")

// appendHex appends the canonical text to b.
func (t Tag) appendHex(b []byte) []byte {
	const digits = "0123456789abcdef"
	b = append(b, '0', 'x')
	for shift := 60; shift >= 0; shift -= 4 {
		b = append(b, digits[t>>shift&0xf])
	}
	return b
}

// Slashed returns the nine fields in decimal, separated by slashes, as Parse reads them.
func (t Tag) Slashed() string { return string(appendSlashed(nil, t, MaxTag)) }

// appendSlashed appends the slash form, with "*" for each field that mask leaves open.
func appendSlashed(b []byte, value, mask Tag) []byte {
	for i, f := range layout {
		if i > 0 {
			b = append(b, '/')
		}
		if mask&f.mask() == 0 {
			b = append(b, '*')
		} else {
			b = strconv.AppendUint(b, f.of(value), 10)
		}
	}
	return b
}

// AppendText appends the canonical text to b. The error is always nil.
func (t Tag) AppendText(b []byte) ([]byte, error) { return t.appendHex(b), nil }

// MarshalText returns the canonical text. The error is always nil.
func (t Tag) MarshalText() ([]byte, error) { return t.AppendText(nil) }

// UnmarshalText sets the tag from any form that Parse reads; the tag is unchanged
// on an error. Flag packages read command lines with it.
//
//   - Errors: as Parse.
func (t *Tag) UnmarshalText(text []byte) error {
	v, err := Parse(string(text))
	if err != nil {
		return err
	}
	*t = v
	return nil
}

// MarshalJSON returns the canonical text as a JSON string: many JSON readers hold
// numbers as float64, which has 53 bits for the 64 of a tag. The error is always nil.
func (t Tag) MarshalJSON() ([]byte, error) {
	b := make([]byte, 0, hexBytes+2)
	return append(t.appendHex(append(b, '"')), '"'), nil
}

// UnmarshalJSON sets the tag from a string in any form that Parse reads, or from a
// number written as plain decimal digits; null leaves the tag unchanged, as do errors.
//
//   - Errors: *ParseError as Parse; encoding/json's for a malformed string.
func (t *Tag) UnmarshalJSON(data []byte) error {
	text := string(data)
	switch {
	case text == "null":
		return nil
	case len(data) > 0 && data[0] == '"':
		if err := json.Unmarshal(data, &text); err != nil {
			return fmt.Errorf("tags: parse JSON string: %w", err)
		}
	case strings.Trim(text, "0123456789") != "":
		err := fmt.Errorf("%w: want a string, or a number without sign, point or exponent", ErrSyntax)
		return &ParseError{Input: text, Err: err}
	}
	return t.UnmarshalText([]byte(text))
}
