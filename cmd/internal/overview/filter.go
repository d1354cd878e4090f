// SPDX-License-Identifier: Apache-2.0

package overview

import (
	"slices"
	"strings"

	"tagbus/tags"
)

// Filter chooses rows by a text: a part of a name, host or id, in any case, or tags. The
// zero value takes all. It may be copied.
type Filter struct {
	text string // in lower case
	tags tags.Set
}

// NewFilter returns the filter for a text, which may have blanks around it.
func NewFilter(text string) Filter {
	f := Filter{text: strings.ToLower(strings.TrimSpace(text))}
	if set, err := tags.ParseSet(f.text); err == nil {
		f.tags = set
	}
	return f
}

// Instances returns the rows that fit, in their order, in the memory of rows.
func (f Filter) Instances(rows []Instance) []Instance {
	if f.text == "" {
		return rows
	}
	return slices.DeleteFunc(rows, func(in Instance) bool {
		return !f.has(in.Name, in.Host, in.Instance) && !f.serves(in.Row)
	})
}

// Links returns the rows of which one end fits, or the tags of the entry, in their order,
// in the memory of rows.
func (f Filter) Links(rows []Link) []Link {
	if f.text == "" {
		return rows
	}
	served := make(map[*Row]bool)
	return slices.DeleteFunc(rows, func(l Link) bool {
		if f.has(l.From.Name, l.From.Host, l.From.Instance, l.To.Name, l.To.Host, l.To.Instance) {
			return false
		}
		serves, known := served[l.Row]
		if !known {
			serves = f.serves(l.Row)
			served[l.Row] = serves
		}
		return !serves
	})
}

func (f Filter) has(texts ...string) bool {
	return slices.ContainsFunc(texts, func(s string) bool { return strings.Contains(strings.ToLower(s), f.text) })
}

func (f Filter) serves(r *Row) bool {
	return r != nil && !f.tags.IsEmpty() && r.Entry.Tags.Intersects(f.tags)
}
