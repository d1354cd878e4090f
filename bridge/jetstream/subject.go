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

// What stands in a pattern for a tag and an instance.
const (
	tagToken      = "{tag}"
	instanceToken = "{instance}"
)

// maxFilters is how many tags a reader asks for one by one. With more it reads all.
const maxFilters = 64

// subjects maps keys to subjects by a pattern, such as tagbus.{tag}.{instance}.
type subjects struct {
	pattern       []string
	tag, instance int // their tokens
}

// parseSubjects reads a pattern.
func parseSubjects(pattern string) (s subjects, err error) {
	s = subjects{pattern: strings.Split(pattern, "."), tag: -1, instance: -1}
	for i, token := range s.pattern {
		switch {
		case token == tagToken && s.tag < 0:
			s.tag = i
		case token == instanceToken && s.instance < 0:
			s.instance = i
		case token == "" || strings.ContainsAny(token, " \t\r\n*>{}$"):
			return s, fmt.Errorf("%q has the part %q, want letters and digits, or %s and %s once each", pattern, token, tagToken, instanceToken)
		}
	}
	if s.tag < 0 || s.instance < 0 {
		return s, fmt.Errorf("%q lacks %s or %s, each a part of its own between dots", pattern, tagToken, instanceToken)
	}
	return s, nil
}

// of returns the subject of a key.
func (s *subjects) of(key durable.Key) string {
	return s.with(fmt.Sprintf("%016x", uint64(key.Tag)), escape(key.Instance))
}

// all returns the subject of all keys, with wildcards.
func (s *subjects) all() string { return s.with("*", "*") }

// filters returns the subjects that have the keys of a set, and perhaps others.
func (s *subjects) filters(set tags.Set) []string {
	var some []string
	for tag := range set.All() {
		if len(some) == maxFilters {
			return []string{s.all()}
		}
		some = append(some, s.with(fmt.Sprintf("%016x", uint64(tag)), "*"))
	}
	if len(some) == 0 {
		return []string{s.all()}
	}
	return some
}

func (s *subjects) with(tag, instance string) string {
	tokens := slices.Clone(s.pattern)
	tokens[s.tag], tokens[s.instance] = tag, instance
	return strings.Join(tokens, ".")
}

// key returns the key of a subject.
func (s *subjects) key(subject string) (key durable.Key, ok bool) {
	tokens := strings.Split(subject, ".")
	if len(tokens) != len(s.pattern) {
		return key, false
	}
	for i, token := range s.pattern {
		if i != s.tag && i != s.instance && tokens[i] != token {
			return key, false
		}
	}
	n, err := strconv.ParseUint(tokens[s.tag], 16, 64)
	if err != nil || len(tokens[s.tag]) != 16 {
		return key, false
	}
	instance, ok := unescape(tokens[s.instance])
	return durable.Key{Tag: tags.Tag(n), Instance: instance}, ok
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
