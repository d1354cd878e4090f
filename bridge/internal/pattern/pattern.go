// SPDX-License-Identifier: Apache-2.0

// Package pattern reads the patterns by which keys of a log have names in an engine, such as
// tagbus.{tag>>16}.{tag}.{instance}.
//
// {tag} stands for the tag as 16 hexadecimal digits, {tag>>N} for those that are left without its last N bits, and
// {instance} for that of the publisher. What else stands in a pattern stands for itself.
package pattern

import (
	"fmt"
	"strconv"
	"strings"

	"tagbus/tags"
)

// TagBits is the size of a tag, of which each digit has digitBits.
const (
	TagBits   = 64
	digitBits = 4
)

// Kind says what a Piece stands for.
type Kind int

// Kinds of pieces.
const (
	Text Kind = iota
	Tag
	Instance
)

// Piece is a text of a pattern, or what stands for a part of a key.
type Piece struct {
	Kind  Kind
	Text  string
	Shift int // of a Tag: how many of its last bits are left out
}

// Parse reads a pattern.
//
// Errors: they name the piece, and what may stand there.
func Parse(text string) (pieces []Piece, err error) {
	for text != "" {
		end := strings.IndexAny(text, "{}")
		if end < 0 {
			end = len(text)
		}
		if end > 0 {
			pieces, text = append(pieces, Piece{Kind: Text, Text: text[:end]}), text[end:]
			continue
		}
		braces, rest, closed := strings.Cut(text, "}")
		name, opened := strings.CutPrefix(braces, "{")
		if !opened || !closed {
			return nil, fmt.Errorf("%q is no pair of braces", text)
		}
		p, err := placeholder(name)
		if err != nil {
			return nil, err
		}
		pieces, text = append(pieces, p), rest
	}
	return pieces, nil
}

// placeholder reads what stands in braces.
func placeholder(name string) (p Piece, err error) {
	bits, shifted := strings.CutPrefix(name, "tag>>")
	switch {
	case name == "tag":
		return Piece{Kind: Tag}, nil
	case name == "instance":
		return Piece{Kind: Instance}, nil
	case shifted:
		p = Piece{Kind: Tag}
		p.Shift, err = strconv.Atoi(bits)
		if err != nil || p.Shift < digitBits || p.Shift > TagBits-digitBits || p.Shift%digitBits != 0 {
			return p, fmt.Errorf("{%s}: want {tag>>N}, where N is a number of bits from %d to %d that ends with a digit: a multiple of %[2]d", name, digitBits, TagBits-digitBits)
		}
		return p, nil
	}
	return p, fmt.Errorf("{%s}: want {tag}, {tag>>N} or {instance}", name)
}

// Digits returns the digits of a tag without its last bits.
func Digits(tag tags.Tag, shift int) string {
	return fmt.Sprintf("%016x", uint64(tag))[:(TagBits-shift)/digitBits]
}

// Span returns the tags that have all but the last bits of one.
func Span(tag tags.Tag, shift int) (first, last tags.Tag) {
	first = tag >> shift << shift
	return first, first | (1<<shift - 1)
}

// Firsts returns the first tag of each span that has one of a set, ascending; nothing if they are more than a limit.
func Firsts(set tags.Set, shift, limit int) (firsts []tags.Tag) {
	next := tags.Tag(0)
	for {
		tag, ok := from(set, next)
		switch {
		case !ok:
			return firsts
		case len(firsts) == limit:
			return nil
		}
		first, last := Span(tag, shift)
		firsts = append(firsts, first)
		if last == tags.MaxTag {
			return firsts
		}
		next = last + 1
	}
}

// from returns the first tag of a set from one on.
func from(set tags.Set, next tags.Tag) (tags.Tag, bool) {
	for tag := range set.AllFrom(next) {
		return tag, true
	}
	return 0, false
}
