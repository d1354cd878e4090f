// SPDX-License-Identifier: Apache-2.0

package rec

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"tagbus/cmd/internal/units"
	"tagbus/recording"
	"tagbus/tags"
)

// maxNamed is how many tags or publishers a text names.
const maxNamed = 3

// NoMessage says what files have instead of the messages that flags ask for. A command that finds
// none of them says so, and ends with status 1. The text begins with "no message", by which, and by
// no other line but that of what was written, bindings/python knows it.
//
//   - to: the flag of q.To.
//   - Errors: the cause of the end of ctx.
func NoMessage(ctx context.Context, rs recording.Readers, q recording.Query, to string) (string, error) {
	series, _ := rs.Series() // damage shows again where the block is read
	if ctx.Err() != nil {
		return "", context.Cause(ctx)
	}
	return insteadOf(series, q, to), nil
}

func insteadOf(series []recording.Series, q recording.Query, to string) string {
	if len(series) == 0 {
		return "no messages are in the files"
	}
	var first, last time.Time // of those that the other flags ask for
	for _, s := range series {
		if !Selected(q, s) {
			continue
		}
		if first.IsZero() || s.First.Before(first) {
			first = s.First
		}
		last = later(last, s.Last)
	}
	if first.IsZero() {
		return NoSeries(q, series)
	}
	var limits []string
	if !q.From.IsZero() {
		limits = append(limits, fmt.Sprintf("from %s on (--from)", q.From.UTC().Format(time.RFC3339Nano)))
	}
	if !q.To.IsZero() {
		limits = append(limits, fmt.Sprintf("before %s (%s)", q.To.UTC().Format(time.RFC3339Nano), to))
	}
	if len(limits) == 0 {
		return "no message can be read"
	}
	return fmt.Sprintf("no message is %s: those that are there are of about %s to %s",
		strings.Join(limits, " and "), first.UTC().Format(time.RFC3339Nano), last.UTC().Format(time.RFC3339Nano))
}

// Selected reports whether a query asks for the messages of a tag from a publisher.
func Selected(q recording.Query, s recording.Series) bool {
	p := s.Publisher
	return (q.Tags.IsEmpty() || q.Tags.Contains(s.Tag)) &&
		(q.Publisher == "" || p != nil && (p.Name == q.Publisher || p.Instance == q.Publisher))
}

// NoSeries says what there is instead of the tags or the publisher of a query, of which there is
// nothing.
//
//   - series: of the files, ordered by publisher.
func NoSeries(q recording.Query, series []recording.Series) string {
	only := recording.Query{Publisher: q.Publisher}
	var there []tags.Tag // from the publisher
	var names []string
	for _, s := range series {
		if Selected(only, s) {
			there = append(there, s.Tag)
		}
		if s.Publisher == nil {
			continue
		}
		if name := cmp.Or(s.Publisher.Name, s.Publisher.Instance); len(names) == 0 || names[len(names)-1] != name {
			names = append(names, name)
		}
	}
	switch {
	case len(there) > 0:
		return fmt.Sprintf("no message has a tag of --tags %v: the nearest that were recorded are %s", q.Tags, listed(nearest(q.Tags, there)))
	case len(names) > 0:
		return fmt.Sprintf("no message is from --publisher %s: those of the recording are %s", q.Publisher, listed(names))
	default:
		return fmt.Sprintf("no message is from --publisher %s: the recording names no publishers, so leave it out", q.Publisher)
	}
}

// listed returns the first of some names.
func listed(names []string) string {
	if more := len(names) - maxNamed; more > 0 {
		return fmt.Sprintf("%s and %s", strings.Join(names[:maxNamed], ", "), units.FormatNumber(more, "other"))
	}
	return strings.Join(names, ", ")
}

// nearest returns tags, those that are nearest to a set first. A pattern is the range that
// it lies in.
func nearest(set tags.Set, there []tags.Tag) []string {
	type span struct{ first, last tags.Tag }
	var ranges, masks []span
	for first, last := range set.Ranges() {
		ranges = append(ranges, span{first, last})
	}
	for value, mask := range set.Masks() {
		masks = append(masks, span{value & mask, value | ^mask})
	}
	distances := make(map[tags.Tag]uint64, len(there))
	for _, t := range there {
		// Of the ranges only the two beside the tag can be the nearest.
		i, _ := slices.BinarySearchFunc(ranges, t, func(s span, t tags.Tag) int { return cmp.Compare(s.first, t) })
		least := uint64(math.MaxUint64)
		for _, s := range slices.Concat(ranges[max(i-1, 0):min(i+1, len(ranges))], masks) {
			switch {
			case t < s.first:
				least = min(least, uint64(s.first-t))
			case t > s.last:
				least = min(least, uint64(t-s.last))
			default:
				least = 0
			}
		}
		distances[t] = least
	}
	sorted := slices.SortedFunc(maps.Keys(distances), func(a, b tags.Tag) int {
		return cmp.Or(cmp.Compare(distances[a], distances[b]), cmp.Compare(a, b))
	})
	names := make([]string, len(sorted))
	for i, t := range sorted {
		names[i] = t.String()
	}
	return names
}
