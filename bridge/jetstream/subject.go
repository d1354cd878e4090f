// SPDX-License-Identifier: Apache-2.0

package jetstream

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"tagbus/bridge/durable"
	"tagbus/bridge/internal/pattern"
	"tagbus/tags"
)

// What stands in a pattern for a tag, and for an instance.
const (
	tagToken      = "{tag}"
	instanceToken = "{instance}"
)

// maxFilters is how many subjects a reader asks for one by one. With more it reads all.
const maxFilters = 64

// subjects maps keys to subjects by a pattern, such as tagbus.{tag}.{instance}.
type subjects struct {
	parts         []pattern.Piece // between the dots
	tag, instance int             // which have all of a tag, and an instance
	shifts        []int           // of the tag and its digits, ascending
}

// parseSubjects reads a pattern.
func parseSubjects(text string) (s subjects, err error) {
	s = subjects{tag: -1, instance: -1}
	for i, token := range strings.Split(text, ".") {
		pieces, err := pattern.Parse(token)
		if err != nil {
			return s, fmt.Errorf("%q has the part %q: %w", text, token, err)
		}
		if len(pieces) != 1 || strings.ContainsAny(pieces[0].Text, " \t\r\n*>$") || token == tagToken && s.tag >= 0 || token == instanceToken && s.instance >= 0 {
			return s, fmt.Errorf("%q has the part %q, want letters and digits, or %s and %s once each", text, token, tagToken, instanceToken)
		}
		p := pieces[0]
		switch {
		case p.Kind == pattern.Instance:
			s.instance = i
		case p.Kind == pattern.Tag && p.Shift == 0:
			s.tag = i
		}
		s.parts = append(s.parts, p)
		if p.Kind == pattern.Tag {
			s.shifts = append(s.shifts, p.Shift)
		}
	}
	if s.tag < 0 || s.instance < 0 {
		return s, fmt.Errorf("%q lacks %s or %s, each a part of its own between dots", text, tagToken, instanceToken)
	}
	slices.Sort(s.shifts)
	return s, nil
}

// of returns the subject of a key.
func (s *subjects) of(key durable.Key) string { return s.with(key.Tag, 0, escape(key.Instance)) }

// wildcard stands for any part of a subject.
const wildcard = "*"

// all returns the subject of all keys, with wildcards.
func (s *subjects) all() string { return s.with(0, pattern.TagBits, wildcard) }

// filters returns the subjects that have the keys of a set, and perhaps others.
func (s *subjects) filters(set tags.Set) []string {
	for _, shift := range s.shifts {
		var some []string
		for _, tag := range pattern.Firsts(set, shift, maxFilters) {
			some = append(some, s.with(tag, shift, wildcard))
		}
		if len(some) > 0 {
			return some
		}
	}
	return []string{s.all()}
}

// with returns a subject. Parts that have more of the tag than is known are wildcards.
//
//   - shift: how many of the last bits of the tag are not known.
func (s *subjects) with(tag tags.Tag, shift int, instance string) string {
	tokens := make([]string, len(s.parts))
	for i, p := range s.parts {
		switch {
		case p.Kind == pattern.Text:
			tokens[i] = p.Text
		case p.Kind == pattern.Instance:
			tokens[i] = instance
		case p.Shift < shift:
			tokens[i] = wildcard
		default:
			tokens[i] = pattern.Digits(tag, p.Shift)
		}
	}
	return strings.Join(tokens, ".")
}

// key returns the key of a subject; ok is false unless it is the subject of that key.
func (s *subjects) key(subject string) (key durable.Key, ok bool) {
	tokens := strings.Split(subject, ".")
	if len(tokens) != len(s.parts) {
		return key, false
	}
	n, err := strconv.ParseUint(tokens[s.tag], 16, pattern.TagBits)
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
