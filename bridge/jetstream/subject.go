// SPDX-License-Identifier: Apache-2.0

package jetstream

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"tagbus/tags"

	"tagbus/bridge/durable"
)

// What stands in a pattern for a tag, for its first digits, and for an instance.
const (
	tagToken      = "{tag}"
	digitsToken   = "{tag>>" // and a number of bits, and }
	instanceToken = "{instance}"
)

// tagBits is the size of a tag, of which each digit has digitBits.
const (
	tagBits   = 64
	digitBits = 4
)

// maxFilters is how many subjects a reader asks for one by one. With more it reads all.
const maxFilters = 64

// part is one between the dots of a pattern.
type part struct {
	kind  partKind
	text  string // of a literal
	shift int    // of a tag: the bits that are left out; 0: none
}

type partKind int

const (
	literal partKind = iota
	ofTag
	ofInstance
)

// subjects maps keys to subjects by a pattern, such as tagbus.{tag}.{instance}.
type subjects struct {
	parts         []part
	tag, instance int   // which have all of a tag, and an instance
	shifts        []int // of the tag and its digits, ascending
}

// parseSubjects reads a pattern.
func parseSubjects(pattern string) (s subjects, err error) {
	s = subjects{tag: -1, instance: -1}
	for i, token := range strings.Split(pattern, ".") {
		p := part{kind: ofTag}
		digits, isDigits := strings.CutPrefix(token, digitsToken)
		switch {
		case token == tagToken && s.tag < 0:
			s.tag = i
		case token == instanceToken && s.instance < 0:
			s.instance, p.kind = i, ofInstance
		case isDigits:
			if p.shift, err = parseShift(digits); err != nil {
				return s, fmt.Errorf("%q has the part %q: %w", pattern, token, err)
			}
		case token == "" || strings.ContainsAny(token, " \t\r\n*>{}$"):
			return s, fmt.Errorf("%q has the part %q, want letters and digits, or %s and %s once each", pattern, token, tagToken, instanceToken)
		default:
			p = part{kind: literal, text: token}
		}
		s.parts = append(s.parts, p)
		if p.kind == ofTag {
			s.shifts = append(s.shifts, p.shift)
		}
	}
	if s.tag < 0 || s.instance < 0 {
		return s, fmt.Errorf("%q lacks %s or %s, each a part of its own between dots", pattern, tagToken, instanceToken)
	}
	slices.Sort(s.shifts)
	return s, nil
}

// parseShift reads the number of bits in front of the closing brace.
func parseShift(text string) (shift int, err error) {
	bits, closed := strings.CutSuffix(text, "}")
	shift, err = strconv.Atoi(bits)
	if err != nil || !closed || shift < digitBits || shift > tagBits-digitBits || shift%digitBits != 0 {
		return 0, fmt.Errorf("want %sN}, where N is a number of bits from %d to %d that ends with a digit: a multiple of %[2]d", digitsToken, digitBits, tagBits-digitBits)
	}
	return shift, nil
}

// of returns the subject of a key.
func (s *subjects) of(key durable.Key) string { return s.with(key.Tag, 0, escape(key.Instance)) }

// wildcard stands for any part of a subject.
const wildcard = "*"

// all returns the subject of all keys, with wildcards.
func (s *subjects) all() string { return s.with(0, tagBits, wildcard) }

// filters returns the subjects that have the keys of a set, and perhaps others.
func (s *subjects) filters(set tags.Set) []string {
	for _, shift := range s.shifts {
		if some := s.filtersBy(set, shift); len(some) > 0 {
			return some
		}
	}
	return []string{s.all()}
}

// filtersBy returns the subjects of tags without their last bits; nothing: there are none, or too many.
func (s *subjects) filtersBy(set tags.Set, shift int) (some []string) {
	next := tags.Tag(0)
	for {
		tag, ok := firstFrom(set, next)
		switch {
		case !ok:
			return some
		case len(some) == maxFilters:
			return nil
		}
		some = append(some, s.with(tag, shift, wildcard))
		if tag>>shift == tags.MaxTag>>shift {
			return some
		}
		next = (tag>>shift + 1) << shift
	}
}

// firstFrom returns the first tag of a set from one on.
func firstFrom(set tags.Set, from tags.Tag) (tags.Tag, bool) {
	for tag := range set.AllFrom(from) {
		return tag, true
	}
	return 0, false
}

// with returns a subject. Parts that have more of the tag than is known are wildcards.
//
//   - shift: how many of the last bits of the tag are not known.
func (s *subjects) with(tag tags.Tag, shift int, instance string) string {
	tokens := make([]string, len(s.parts))
	for i, p := range s.parts {
		switch {
		case p.kind == literal:
			tokens[i] = p.text
		case p.kind == ofInstance:
			tokens[i] = instance
		case p.shift < shift:
			tokens[i] = wildcard
		default:
			tokens[i] = digits(tag, p.shift)
		}
	}
	return strings.Join(tokens, ".")
}

// digits returns the first digits of a tag.
func digits(tag tags.Tag, shift int) string {
	return fmt.Sprintf("%016x", uint64(tag))[:(tagBits-shift)/digitBits]
}

// key returns the key of a subject; ok is false unless it is the subject of that key.
func (s *subjects) key(subject string) (key durable.Key, ok bool) {
	tokens := strings.Split(subject, ".")
	if len(tokens) != len(s.parts) {
		return key, false
	}
	n, err := strconv.ParseUint(tokens[s.tag], 16, tagBits)
	if err != nil {
		return key, false
	}
	if key.Instance, ok = unescape(tokens[s.instance]); !ok {
		return key, false
	}
	key.Tag = tags.Tag(n)
	return key, s.of(key) == subject
}

// plain reports whether a byte of an instance stands for itself in a subject.
func plain(b byte) bool {
	return b >= '0' && b <= '9' || b >= 'A' && b <= 'Z' || b >= 'a' && b <= 'z' || b == '-' || b == '_'
}

// escape writes other bytes as = and two digits: an instance comes from a peer, and may have any.
func escape(instance string) string {
	var b strings.Builder
	for i := range len(instance) {
		if c := instance[i]; plain(c) {
			b.WriteByte(c)
		} else {
			fmt.Fprintf(&b, "=%02x", c)
		}
	}
	return b.String()
}

// unescape undoes escape.
func unescape(token string) (instance string, ok bool) {
	var b []byte
	for i := 0; i < len(token); i++ {
		if token[i] != '=' {
			b = append(b, token[i])
			continue
		}
		if i+2 >= len(token) {
			return "", false
		}
		c, err := strconv.ParseUint(token[i+1:i+3], 16, 8)
		if err != nil {
			return "", false
		}
		b = append(b, byte(c))
		i += 2
	}
	return string(b), len(b) > 0
}

// covers reports whether a subject with wildcards has all that another one has.
func covers(wide, subject string) bool {
	w, s := strings.Split(wide, "."), strings.Split(subject, ".")
	for i, token := range w {
		switch {
		case token == ">":
			return len(s) > i
		case i >= len(s), token != "*" && token != s[i]:
			return false
		}
	}
	return len(w) == len(s)
}
