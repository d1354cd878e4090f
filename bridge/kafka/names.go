// SPDX-License-Identifier: Apache-2.0

package kafka

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"tagbus/bridge/internal/pattern"
	"tagbus/tags"
)

// isPattern reports whether a name is a pattern of names: topics have no braces.
func isPattern(name string) bool { return strings.Contains(name, "{") }

// names maps tags to names by a pattern, such as tagbus-{tag>>48}. All names have the same length.
type names struct {
	text   string
	pieces []pattern.Piece
	shift  int // tags without so many of their last bits have a name of their own
}

// parseNames reads a pattern.
func parseNames(text string) (n names, err error) {
	n = names{text: text, shift: math.MaxInt}
	if n.pieces, err = pattern.Parse(text); err != nil {
		return n, fmt.Errorf("%q: %w", text, err)
	}
	for _, p := range n.pieces {
		switch p.Kind {
		case pattern.Tag:
			n.shift = min(n.shift, p.Shift)
		case pattern.Instance:
			return n, fmt.Errorf("%q has {instance}, want {tag>>N}: a tag is in one topic, whichever publishers it has", text)
		default:
		}
	}
	if n.shift == math.MaxInt {
		return n, fmt.Errorf("%q lacks {tag>>N}, which stands for a tag without its last N bits", text)
	}
	return n, nil
}

// of returns the name that a tag has.
func (n *names) of(tag tags.Tag) string {
	var b strings.Builder
	for _, p := range n.pieces {
		if p.Kind == pattern.Tag {
			b.WriteString(pattern.Digits(tag, p.Shift))
		} else {
			b.WriteString(p.Text)
		}
	}
	return b.String()
}

// span returns the tags that have a name; ok is false if there are none.
func (n *names) span(name string) (first, last tags.Tag, ok bool) {
	at := 0
	for _, p := range n.pieces {
		size := len(p.Text)
		if p.Kind == pattern.Tag {
			size = len(pattern.Digits(0, p.Shift))
		}
		if at+size > len(name) {
			return 0, 0, false
		}
		if p.Kind == pattern.Tag && p.Shift == n.shift {
			digits, err := strconv.ParseUint(name[at:at+size], 16, pattern.TagBits)
			if err != nil {
				return 0, 0, false
			}
			first, last = pattern.Span(tags.Tag(digits)<<n.shift, n.shift)
		}
		at += size
	}
	return first, last, n.of(first) == name
}

// patterns are those of the names in a Config.
type patterns struct{ topics, indexes, ids names }

// patterns returns those of a Config with its defaults.
//
// Errors: ErrInvalidConfig, wrapped.
func (c Config) patterns() (p patterns, err error) {
	if p.topics, err = parseNames(c.Topic); err != nil {
		return p, fmt.Errorf("%w: Topic: %w", ErrInvalidConfig, err)
	}
	for _, other := range []struct {
		field, text string
		to          *names
	}{{"Index", c.Index, &p.indexes}, {"TransactionalID", c.TransactionalID, &p.ids}} {
		if *other.to, err = parseNames(other.text); err != nil || other.to.shift != p.topics.shift {
			return p, fmt.Errorf("%w: %s is %q, want a pattern with a name for each topic of %q, by the same digits of the tag", ErrInvalidConfig, other.field, other.text, c.Topic)
		}
	}
	return p, nil
}

// config returns the Config of the topic that has a tag.
func (p *patterns) config(c Config, tag tags.Tag) Config {
	c.Topic, c.Index, c.TransactionalID = p.topics.of(tag), p.indexes.of(tag), p.ids.of(tag)
	return c
}
