// SPDX-License-Identifier: Apache-2.0

package check

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"tagbus/bus/directory"
	"tagbus/cmd/internal/overview"
	"tagbus/internal/sanitize"
	"tagbus/tags"
)

const (
	maxPairs    = 1000               // pairs with common tags that are looked for
	shownPairs  = 20                 // and shown
	shownTags   = 100                // bytes of the tags that a pair has in common
	patternWork = 16 * tags.MaxSteps // some tenths of a second
)

// judgeTags says which tags have several owners, and which programs have none.
func judgeTags(s *seen) []Finding {
	f := &findings{group: "tags"}
	var publishers, receivers []*entrySeen
	for _, e := range s.living() {
		if e.Entry.Role == directory.Receiver {
			receivers = append(receivers, e)
		} else {
			publishers = append(publishers, e)
		}
		if e.Entry.Tags.IsEmpty() {
			f.of(&e.Entry, Note, "no-tags", "give it --tags", "this %s announces no tags, so no program connects to it", overview.RoleOf(&e.Entry))
		}
	}
	f.owners(publishers, func(a, b *entrySeen, common string) {
		f.of(&a.Entry, Warning, "two-publishers", "stop one of them, or give each its own tags",
			"it and %s (%s) both publish %s: subscribers get these tags from one of them, or twice", who(&b.Entry), b.Entry.Instance, common)
		f.differs(b.Entry.Instance)
	})
	f.owners(receivers, func(a, b *entrySeen, common string) {
		f.of(&a.Entry, Error, "two-receivers", "give each tag one receiver",
			"it and %s (%s) both receive %s: a sender sends to one of them, and senders may choose differently", who(&b.Entry), b.Entry.Instance, common)
		f.differs(b.Entry.Instance)
	})
	if n := len(publishers) + len(receivers); n > 0 {
		f.ok(s.bus, "no tag has two owners")
	}
	return f.sorted()
}

// owners tells of each pair that has tags in common.
func (f *findings) owners(all []*entrySeen, tell func(a, b *entrySeen, common string)) {
	sets := make([]tags.Set, len(all))
	for i, e := range all {
		sets[i] = e.Entry.Tags
	}
	pairs, err := overlaps(sets)
	for _, p := range pairs[:min(len(pairs), shownPairs)] {
		a, b := all[p.a], all[p.b]
		common := "some tags"
		if set, err := sets[p.a].Intersection(sets[p.b]); err == nil {
			common = sanitize.Cut(set.String(), shownTags)
		}
		tell(a, b, common)
	}
	if rest := len(pairs) - shownPairs; rest > 0 {
		tell := fmt.Sprint(rest)
		if len(pairs) >= maxPairs {
			tell = "at least " + tell
		}
		f.add(Warning, "more-owners", "tags", "begin with those that are named", "%s more pairs of a role have tags in common", tell)
	}
	if err != nil {
		f.add(Note, "tags-unchecked", "tags", "announce ranges instead of patterns, where that is possible",
			"the patterns of some sets were too many to be compared, so that more tags may have two owners")
	}
}

// pair is two sets that have a tag in common, by their places; a < b.
type pair struct{ a, b int }

// overlaps returns up to maxPairs pairs, in order.
//
// Errors: tags.ErrTooComplex if sets with patterns are too many to be compared; the pairs
// are right all the same, and some are missing.
func overlaps(sets []tags.Set) ([]pair, error) {
	found := make(map[pair]bool)
	overlappingRanges(sets, found)
	budget := tags.NewBudget(patternWork)
	var failed error
	for i := range sets {
		if !hasPatterns(sets[i]) {
			continue
		}
		for j := range sets {
			if j == i || j < i && hasPatterns(sets[j]) || len(found) >= maxPairs {
				continue
			}
			both, err := budget.Intersects(sets[i], sets[j])
			if both {
				found[pair{min(i, j), max(i, j)}] = true
			}
			failed = errors.Join(failed, err)
			if budget.Left() < 0 {
				return sortedPairs(found), failed
			}
		}
	}
	return sortedPairs(found), failed
}

// overlappingRanges finds the pairs of sets whose ranges have a tag in common, in one pass
// over all ranges in their order.
func overlappingRanges(sets []tags.Set, found map[pair]bool) {
	type span struct {
		lo, hi tags.Tag
		set    int
	}
	var spans []span
	for i, s := range sets {
		for lo, hi := range s.Ranges() {
			spans = append(spans, span{lo, hi, i})
		}
	}
	slices.SortFunc(spans, func(a, b span) int { return cmp.Compare(a.lo, b.lo) })
	var open []span // those that may reach the next one: at most one of each set
	for _, s := range spans {
		open = slices.DeleteFunc(open, func(o span) bool { return o.hi < s.lo })
		for _, o := range open {
			found[pair{min(o.set, s.set), max(o.set, s.set)}] = true
		}
		if len(found) >= maxPairs {
			return
		}
		open = append(open, s)
	}
}

func hasPatterns(s tags.Set) bool {
	for range s.Masks() {
		return true
	}
	return false
}

func sortedPairs(found map[pair]bool) []pair {
	pairs := make([]pair, 0, len(found))
	for p := range found {
		pairs = append(pairs, p)
	}
	slices.SortFunc(pairs, func(x, y pair) int { return cmp.Or(x.a-y.a, x.b-y.b) })
	return pairs[:min(len(pairs), maxPairs)]
}
