// SPDX-License-Identifier: Apache-2.0

package web

import (
	"fmt"
	"net/url"
	"slices"
	"strconv"

	"tagbus/tags"
)

// views are what a viewer can show.
var views = []string{"overview", "processes", "peers", "tags", "losses", "topology", "instance", "tag"}

const (
	maxRows        = 100 // in a frame
	maxFilterBytes = 100
)

// shown is what a viewer shows.
type shown struct {
	view       string
	instance   string
	tag        tags.Tag
	filter     string
	sort       string
	descending bool
	offset     int
	rows       int
	since      uint64 // the viewer has the history up to this look
}

// queryError reports a query that makes no sense.
type queryError struct{ Name, Value, Want string }

// Error names the parameter and what it can be.
func (e *queryError) Error() string {
	return fmt.Sprintf("%s: got %q, want %s", e.Name, e.Value, e.Want)
}

// parseShown reads the query of the event stream.
//
//   - Errors: *queryError.
func parseShown(q url.Values) (shown, error) {
	s := shown{view: "overview", rows: maxRows, descending: q.Get("order") == "desc", sort: q.Get("sort"), filter: q.Get("filter"), instance: q.Get("id")}
	if v := q.Get("view"); v != "" {
		s.view = v
	}
	if !slices.Contains(views, s.view) {
		return s, &queryError{"view", s.view, fmt.Sprintf("one of %v", views)}
	}
	for name, limit := range map[string]int{"id": 2 * textBytes, "filter": maxFilterBytes, "sort": 20} {
		if v := q.Get(name); len(v) > limit {
			return s, &queryError{name, v[:20] + "...", fmt.Sprintf("at most %d bytes", limit)}
		}
	}
	for name, to := range map[string]*int{"offset": &s.offset, "rows": &s.rows} {
		if v := q.Get(name); v != "" {
			n, err := strconv.Atoi(v)
			if err != nil || n < 0 {
				return s, &queryError{name, v, "a number of rows"}
			}
			*to = n
		}
	}
	s.rows = min(s.rows, maxRows)
	if v := q.Get("since"); v != "" {
		n, err := strconv.ParseUint(v, 10, 64)
		if err != nil {
			return s, &queryError{"since", v, "the number of a frame"}
		}
		s.since = n
	}
	if s.view == "tag" {
		t, err := tags.Parse(q.Get("tag"))
		if err != nil {
			return s, &queryError{"tag", q.Get("tag"), "a tag: 0x-hex, decimal or nine fields"}
		}
		s.tag = t
	}
	return s, nil
}

// asks returns the tags that the viewer wants to know of.
func (s *shown) asks() tags.Set {
	switch s.view {
	case "tag":
		return tags.Of(s.tag)
	case "tags":
		if t, err := tags.Parse(s.filter); err == nil {
			return tags.Of(t)
		}
	}
	return tags.Set{}
}
