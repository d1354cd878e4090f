// SPDX-License-Identifier: Apache-2.0

package tags

import (
	"fmt"
	"math"
	"strings"
)

// ParseSet reads a set: items separated by commas, with blanks allowed around the
// commas. An item is one of
//
//	0x1000013000118000               a tag, in any form that Parse reads
//	16-31                            a range, both ends included, each a tag in any form
//	1/0/19/*/*/*/0/*/*               the slash form with * for fields that may have any value
//	0x1000013000000000&0xfffffff0000000ff   value&mask, as in Match
//	*                                every tag
//
// Empty text is the empty set; an empty item is an error. In a shell, * and & need quotes.
//
//   - Errors: *ParseError, with ErrSyntax, ErrOverflow, ErrRangeOrder or a *FieldError inside.
func ParseSet(s string) (Set, error) {
	const blanks = " \t\r\n"
	if strings.Trim(s, blanks) == "" {
		return Set{}, nil
	}
	var ranges []span
	var masks []pattern
	rest, more := s, true
	for at := 0; more; {
		var item string
		item, rest, more = strings.Cut(rest, ",")
		text := strings.TrimLeft(item, blanks)
		start := at + len(item) - len(text)
		r, p, offset, err := parseItem(strings.TrimRight(text, blanks))
		if err != nil {
			return Set{}, &ParseError{Input: s, Offset: start + offset, Err: err}
		}
		if p.mask == 0 {
			ranges = append(ranges, r)
		} else {
			masks = append(masks, p)
		}
		at += len(item) + 1
	}
	return build(ranges, masks), nil
}

// parseItem reads one item. It is p if p has a mask, else r. The offset of an error
// is within the item.
func parseItem(item string) (r span, p pattern, offset int, err error) {
	if item == "" {
		return r, p, 0, fmt.Errorf("%w: a tag is missing", ErrSyntax)
	}
	if item == "*" {
		return span{0, MaxTag}, p, 0, nil
	}
	if i := strings.IndexAny(item, "-&"); i >= 0 {
		return parsePair(item, i)
	}
	if !strings.Contains(item, "/") {
		t, offset, err := parseTag(item)
		return span{t, t}, p, offset, err
	}
	p.value, p.mask, offset, err = parseSlashed(item)
	r = span{0, MaxTag} // for */*/*/*/*/*/*/*/*
	return r, p, offset, err
}

// parsePair reads an item of two tags joined by the '-' or '&' at i.
func parsePair(item string, i int) (r span, p pattern, offset int, err error) {
	first, offset, err := parseTag(item[:i])
	if err != nil {
		return r, p, offset, err
	}
	second, offset, err := parseTag(item[i+1:])
	if err != nil {
		return r, p, i + 1 + offset, err
	}
	if item[i] == '&' {
		return span{0, MaxTag}, pattern{mask: second, value: first & second}, 0, nil
	}
	if first > second {
		return r, p, 0, ErrRangeOrder
	}
	return span{first, second}, p, 0, nil
}

// String returns the canonical text, which ParseSet reads back to an equal set:
// ranges in ascending order, then patterns, joined by commas. Tags are printed in
// hexadecimal; a pattern is in slash form if each of its fields is fixed or open as
// a whole, else value&mask. The empty set is empty text, the set of all tags is *.
func (s Set) String() string { return string(s.appendText(nil)) }

func (s Set) appendText(b []byte) []byte {
	b, _ = s.appendItems(b, math.MaxInt)
	return b
}

// Short returns the canonical text of as many items, from the first on, as fit into most
// bytes, and reports whether these are all. It costs no more than what it returns.
func (s Set) Short(most int) (text string, all bool) {
	b, all := s.appendItems(nil, most)
	return string(b), all
}

// appendItems appends the text of the items, joined by commas, as long as b does not
// become longer than most bytes. It reports whether these are all.
func (s Set) appendItems(b []byte, most int) (_ []byte, all bool) {
	for i := range s.Parts() {
		end := len(b)
		if i > 0 {
			b = append(b, ',')
		}
		if i < len(s.ranges) {
			b = s.ranges[i].appendText(b)
		} else {
			b = s.masks[i-len(s.ranges)].appendText(b)
		}
		if len(b) > most {
			return b[:end], false
		}
	}
	return b, true
}

func (r span) appendText(b []byte) []byte {
	switch {
	case r.lo == 0 && r.hi == MaxTag:
		return append(b, '*')
	case r.lo == r.hi:
		return r.lo.appendHex(b)
	default:
		return r.hi.appendHex(append(r.lo.appendHex(b), '-'))
	}
}

func (p pattern) appendText(b []byte) []byte {
	for _, f := range layout {
		if m := p.mask & f.mask(); m != 0 && m != f.mask() {
			return p.mask.appendHex(append(p.value.appendHex(b), '&'))
		}
	}
	return appendSlashed(b, p.value, p.mask)
}

// AppendText appends the canonical text to b. The error is always nil.
func (s Set) AppendText(b []byte) ([]byte, error) { return s.appendText(b), nil }

// MarshalText returns the canonical text; JSON holds a set as this string. The error
// is always nil.
func (s Set) MarshalText() ([]byte, error) { return s.AppendText([]byte{}) }

// UnmarshalText sets s as ParseSet does; s is unchanged on an error. Flag packages
// read command lines with it.
//
//   - Errors: as ParseSet.
func (s *Set) UnmarshalText(text []byte) error {
	v, err := ParseSet(string(text))
	if err != nil {
		return err
	}
	*s = v
	return nil
}
