// SPDX-License-Identifier: Apache-2.0

//go:build linux

package losses

import (
	"cmp"
	"path"
	"slices"
	"strconv"
	"time"

	"tagbus/bus"
	"tagbus/bus/state"
	"tagbus/cmd/internal/overview"
	"tagbus/tags"
)

// Row is what was lost for one reason.
type Row struct {
	Tag        *tags.Tag    `json:"tag,omitempty"`       // nil: of several
	Tags       int          `json:"tags,omitempty"`      // of how many at least; 0: not known
	Publisher  overview.End `json:"publisher,omitzero"`  // which sends; zero: several, or not known
	Subscriber overview.End `json:"subscriber,omitzero"` // which did not get them
	Policy     string       `json:"policy,omitempty"`
	Cause      state.Cause  `json:"cause"`
	Messages   uint64       `json:"messages"`
	First      time.Time    `json:"first,omitzero"`
	Last       time.Time    `json:"last,omitzero"`

	back  bool      // of Unconfirmed: the subscriber is connected again
	asked time.Time // by the clock of the host that says it; zero: ours, or not known
}

// what returns the tag, or of how many tags the row is.
func (r *Row) what() string {
	switch {
	case r.Tag != nil:
		return r.Tag.String()
	case r.Tags > 0:
		return strconv.Itoa(r.Tags) + " tags"
	default:
		return ""
	}
}

// called returns what people call an end: its name, or how to tell it from others.
func called(e *overview.End) string {
	switch {
	case e.Name != "" || e.Instance == "":
		return e.Name
	case e.Host != "":
		return bus.ShortInstance(e.Instance) + "@" + e.Host
	default:
		return e.Instance
	}
}

// orders are the values of --sort.
var orders = map[string]func(a, b *Row) int{
	"count":      byCount,
	"last":       func(a, b *Row) int { return b.Last.Compare(a.Last) },
	"tag":        byTag,
	"publisher":  func(a, b *Row) int { return cmp.Compare(called(&a.Publisher), called(&b.Publisher)) },
	"subscriber": func(a, b *Row) int { return cmp.Compare(called(&a.Subscriber), called(&b.Subscriber)) },
}

func byCount(a, b *Row) int { return cmp.Compare(b.Messages, a.Messages) }

func byTag(a, b *Row) int {
	switch {
	case a.Tag != nil && b.Tag != nil:
		return cmp.Compare(*a.Tag, *b.Tag)
	case a.Tag != nil:
		return -1
	case b.Tag != nil:
		return 1
	default:
		return 0
	}
}

// chosen returns the rows that are wanted, in their order.
func (r *reporter) chosen(rows []Row, now time.Time) []Row {
	matches := func(name string) bool {
		ok, _ := path.Match(r.Name, name) // Check has seen the pattern
		return ok
	}
	var chosen []Row
	for _, row := range rows {
		named := r.Name == "" || matches(row.Publisher.Name) || matches(row.Subscriber.Name)
		tagged := r.Tags.IsEmpty() || row.Tag != nil && r.Tags.Contains(*row.Tag)
		if named && tagged && (row.Last.IsZero() || !row.Last.Before(r.Since.from(cmp.Or(row.asked, now)))) {
			chosen = append(chosen, row)
		}
	}
	slices.SortFunc(chosen, func(a, b Row) int {
		return cmp.Or(orders[r.Sort](&a, &b), byCount(&a, &b), byTag(&a, &b),
			cmp.Compare(called(&a.Publisher), called(&b.Publisher)), cmp.Compare(a.Publisher.Instance, b.Publisher.Instance),
			cmp.Compare(called(&a.Subscriber), called(&b.Subscriber)), cmp.Compare(a.Subscriber.Instance, b.Subscriber.Instance),
			cmp.Compare(a.Policy, b.Policy), cmp.Compare(a.Cause, b.Cause))
	})
	return chosen
}
