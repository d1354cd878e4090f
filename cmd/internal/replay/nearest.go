// SPDX-License-Identifier: Apache-2.0

//go:build linux

package replay

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"tagbus/cmd/internal/units"
	"tagbus/recording"
	"tagbus/tags"
)

// maxNamed is how many tags or publishers an error names.
const maxNamed = 3

// noSeries says what there is instead of the tags or the publisher that flags ask for.
//
//   - series: of the recording, ordered by publisher.
func noSeries(c *Command, series []recording.Series) error {
	only := Command{Publisher: c.Publisher}
	var there []tags.Tag // from the publisher
	var names []string
	for _, s := range series {
		if selected(&only, s) {
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
		return fmt.Errorf("nothing to publish: no message has a tag of --tags %v: the nearest that were recorded are %s", c.Tags, listed(nearest(c.Tags, there)))
	case len(names) > 0:
		return fmt.Errorf("nothing to publish: no message is from --publisher %s: those of the recording are %s", c.Publisher, listed(names))
	default:
		return fmt.Errorf("nothing to publish: the recording names no publishers: leave --publisher %s out", c.Publisher)
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
