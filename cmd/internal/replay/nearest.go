// SPDX-License-Identifier: Apache-2.0

package replay

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"tagbus/recording"
	"tagbus/tags"
)

// maxNamed is how many tags or publishers an error names.
const maxNamed = 3

// noSeries says what there is instead of the tags or the publisher that flags ask for.
func noSeries(c *Command, series []recording.Series) error {
	var of []recording.Series // the publisher
	var names []string
	for _, s := range series {
		only := Command{Publisher: c.Publisher}
		if selected(&only, s) {
			of = append(of, s)
		}
		if s.Publisher != nil && !slices.Contains(names, publisherName(s)) {
			names = append(names, publisherName(s))
		}
	}
	if len(of) == 0 {
		return fmt.Errorf("nothing to publish: no message is from --publisher %s: those of the recording are %s", c.Publisher, listed(names))
	}
	of = slices.Clone(of)
	slices.SortFunc(of, func(a, b recording.Series) int {
		return cmp.Or(cmp.Compare(distance(c.Tags, a.Tag), distance(c.Tags, b.Tag)), cmp.Compare(a.Tag, b.Tag))
	})
	var near []string
	for _, s := range of {
		if text := s.Tag.String(); !slices.Contains(near, text) {
			near = append(near, text)
		}
	}
	return fmt.Errorf("nothing to publish: no message has a tag of --tags %v: the nearest that were recorded are %s", c.Tags, listed(near))
}

func publisherName(s recording.Series) string { return cmp.Or(s.Publisher.Name, s.Publisher.Instance) }

// listed returns the first of some names.
func listed(names []string) string {
	if more := len(names) - maxNamed; more > 0 {
		return fmt.Sprintf("%s and %d others", strings.Join(names[:maxNamed], ", "), more)
	}
	return strings.Join(names, ", ")
}

// distance returns how far a tag is from the ranges of a set. A pattern is the range that
// it lies in.
func distance(set tags.Set, t tags.Tag) uint64 {
	least := uint64(math.MaxUint64)
	to := func(first, last tags.Tag) {
		switch {
		case t < first:
			least = min(least, uint64(first-t))
		case t > last:
			least = min(least, uint64(t-last))
		default:
			least = 0
		}
	}
	for first, last := range set.Ranges() {
		to(first, last)
	}
	for value, mask := range set.Masks() {
		to(value&mask, value|^mask)
	}
	return least
}
