// SPDX-License-Identifier: Apache-2.0

package subscription_test

import (
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"tagbus/internal/testkit"
	"tagbus/subscription"
	"tagbus/tags"
)

// tableUniverse is what the model's tags are drawn from: small, so that sets
// overlap often.
const tableUniverse = 48

// tableModel is a Table in the obvious way.
type tableModel map[subscription.LaneID]map[uint64]tags.Set

func (m tableModel) wants(s subscription.LaneID, tag tags.Tag) bool {
	for _, set := range m[s] {
		if set.Contains(tag) {
			return true
		}
	}
	return false
}

// size counts what lane s would hold with set as id.
func (m tableModel) size(s subscription.LaneID, id uint64, set tags.Set) (parts, masks int) {
	held := maps.Clone(m[s])
	if held == nil {
		held = make(map[uint64]tags.Set)
	}
	held[id] = set
	for _, set := range held {
		for range set.Ranges() {
			parts++
		}
		for range set.Masks() {
			parts++
			masks++
		}
	}
	return parts, masks
}

func (m tableModel) end(s subscription.LaneID, id uint64) {
	delete(m[s], id)
	if len(m[s]) == 0 {
		delete(m, s)
	}
}

func drawSet(t *rapid.T) tags.Set {
	var s tags.Set
	for range rapid.IntRange(1, 4).Draw(t, "parts") {
		a := tags.Tag(rapid.IntRange(0, tableUniverse-1).Draw(t, "a"))
		switch rapid.IntRange(0, 2).Draw(t, "kind") {
		case 0:
			s = s.Union(tags.Of(a))
		case 1:
			r, err := tags.Range(a, min(a+tags.Tag(rapid.IntRange(0, 9).Draw(t, "length")), tableUniverse-1))
			if err != nil {
				t.Fatal(err)
			}
			s = s.Union(r)
		case 2:
			mask := tags.Tag(rapid.SampledFrom([]int{1, 5, 9, 33}).Draw(t, "mask"))
			s = s.Union(tags.Match(a&mask, mask))
		}
	}
	return s
}

func TestTable_doesWhatAMapDoes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const partLimit, maskLimit = 9, 3
		table := subscription.LimitedTable(partLimit, maskLimit)
		model := make(tableModel)
		lane := rapid.Custom(func(t *rapid.T) subscription.LaneID {
			return subscription.LaneID(rapid.IntRange(0, 5).Draw(t, "lane"))
		})
		id := rapid.Uint64Range(1, 3)
		t.Repeat(map[string]func(*rapid.T){
			"subscribe": func(t *rapid.T) {
				s, id, set := lane.Draw(t, "s"), id.Draw(t, "id"), drawSet(t)
				parts, masks := model.size(s, id, set)
				err := table.Subscribe(s, id, set)
				if parts > partLimit || masks > maskLimit {
					if !errors.Is(err, subscription.ErrTooManyTags) {
						t.Fatalf("%d parts with %d masks: got %v, want ErrTooManyTags", parts, masks, err)
					}
					return
				}
				if err != nil {
					t.Fatalf("%d parts with %d masks: got %v, want no error", parts, masks, err)
				}
				if model[s] == nil {
					model[s] = make(map[uint64]tags.Set)
				}
				model[s][id] = set
			},
			"unsubscribe": func(t *rapid.T) {
				s, id := lane.Draw(t, "s"), id.Draw(t, "id")
				want, wantOK := model[s][id]
				got, ok := table.Unsubscribe(s, id)
				if ok != wantOK || !got.Equal(want) {
					t.Fatalf("got %q, %v want %q, %v", got, ok, want, wantOK)
				}
				model.end(s, id)
			},
			"remove": func(t *rapid.T) {
				s := lane.Draw(t, "s")
				got := tags.Union(table.Remove(s)...)
				checkSameTags(t, "removed", got, func(tag tags.Tag) bool { return model.wants(s, tag) })
				delete(model, s)
			},
			"": func(t *rapid.T) { checkTable(t, &table, model) },
		})
	})
}

func checkTable(t *rapid.T, table *subscription.Table, model tableModel) {
	if table.Len() != len(model) {
		t.Fatalf("got %d lanes, want %d", table.Len(), len(model))
	}
	order := slices.Sorted(maps.Keys(model))
	for tag := range tags.Tag(tableUniverse) {
		var want []subscription.LaneID
		for s := range subscription.LaneID(6) {
			if got := table.Wants(s, tag); got != model.wants(s, tag) {
				t.Fatalf("lane %d wants %v: got %v", s, tag, got)
			}
		}
		for _, s := range order {
			if model.wants(s, tag) {
				want = append(want, s)
			}
		}
		before := []subscription.LaneID{99}
		if got := table.AppendWanting(before, tag); !slices.Equal(got[1:], want) || got[0] != 99 {
			t.Fatalf("want %v: got %v, want 99 and %v", tag, got, want)
		}
	}
	for s := range subscription.LaneID(6) {
		if got := table.Has(s); got != (len(model[s]) > 0) {
			t.Fatalf("lane %d has a subscription: got %v", s, got)
		}
		for id := range uint64(4) {
			if got := table.Subscription(s, id); !got.Equal(model[s][id]) {
				t.Fatalf("subscription %d of %d: got %q, want %q", id, s, got, model[s][id])
			}
		}
		parts, masks := model.size(s, 0, tags.Set{})
		if gotParts, gotMasks := table.Size(s); gotParts != parts || gotMasks != masks {
			t.Fatalf("size of %d: got %d parts with %d masks, want %d with %d", s, gotParts, gotMasks, parts, masks)
		}
		checkSameTags(t, "sets", tags.Union(table.Sets(nil, s)...), func(tag tags.Tag) bool { return model.wants(s, tag) })
		probe := drawSet(t)
		if got, want := table.Overlaps(s, probe), tags.Union(table.Sets(nil, s)...).Intersects(probe); got != want {
			t.Fatalf("%d overlaps %q: got %v, want %v", s, probe, got, want)
		}
		checkSameTags(t, "set", table.Set(s), func(tag tags.Tag) bool { return model.wants(s, tag) })
	}
}

// checkSameTags compares a set with a predicate over the universe.
func checkSameTags(t *rapid.T, what string, got tags.Set, want func(tags.Tag) bool) {
	for tag := range tags.Tag(tableUniverse) {
		if got.Contains(tag) != want(tag) {
			t.Fatalf("%s %q: contains %v: got %v", what, got, tag, got.Contains(tag))
		}
	}
}

// sparse returns a set of n ranges.
func sparse(n int) tags.Set {
	list := make([]tags.Tag, n)
	for i := range list {
		list[i] = tags.Tag(2 * i)
	}
	return tags.Of(list...)
}

// masks returns a set of n masks, none of which is a range.
func masks(n int) tags.Set {
	sets := make([]tags.Set, n)
	for i := range sets {
		sets[i] = tags.Match(tags.Tag(i)<<36, 0xffff<<36) // one connector
	}
	return tags.Union(sets...)
}

func TestTable_limits(t *testing.T) {
	tests := []struct {
		name  string
		table subscription.Table
		first tags.Set // subscribed to as 1
		id    uint64   // of the second
		set   tags.Set
		want  string // of the error
	}{
		{"as many ranges as allowed", subscription.Table{}, sparse(1 << 16), 2, sparse(1 << 16), ""},
		{"a range too many", subscription.Table{}, sparse(1 << 16), 2, sparse(1<<16 + 1), "131073 ranges and masks, limit 131072: subscribe to ranges instead of single tags"},
		{"a replacement counts once", subscription.Table{}, sparse(1 << 16), 1, sparse(1 << 17), ""},
		{"a lower limit", subscription.LimitedTable(3, 0), sparse(2), 2, sparse(2), "4 ranges and masks, limit 3: subscribe to ranges instead of single tags"},
		{"as many masks as allowed", subscription.Table{}, masks(128), 2, masks(128), ""},
		{"a mask too many", subscription.Table{}, masks(128), 2, masks(129), "257 masks, limit 256: subscribe to ranges instead of masks"},
		{"a replacement of masks counts once", subscription.Table{}, masks(256), 1, masks(256), ""},
		{"a lower limit of masks", subscription.LimitedTable(0, 2), masks(2), 2, masks(1), "3 masks, limit 2: subscribe to ranges instead of masks"},
		{"masks count as parts", subscription.LimitedTable(3, 0), masks(2), 2, masks(2), "4 ranges and masks, limit 3: subscribe to ranges instead of single tags"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			table := test.table
			if err := table.Subscribe(7, 1, test.first); err != nil {
				t.Fatal(err)
			}
			err := table.Subscribe(7, test.id, test.set)
			if test.want == "" {
				if err != nil {
					t.Errorf("got %v, want no error", err)
				}
				return
			}
			if !errors.Is(err, subscription.ErrTooManyTags) || !strings.HasSuffix(err.Error(), test.want) {
				t.Errorf("got %v, want ErrTooManyTags: %s", err, test.want)
			}
			if got := table.Set(7); !got.Equal(test.first) {
				t.Errorf("the refused subscription changed what is wanted")
			}
			if got, ok := table.Unsubscribe(7, 2); ok {
				t.Errorf("the refused subscription is there with %d parts", got.Parts())
			}
		})
	}
}

func TestTable_Subscribe_aRefusedFirstOneLeavesNoLane(t *testing.T) {
	table := subscription.LimitedTable(1, 0)
	if err := table.Subscribe(1, 1, sparse(2)); !errors.Is(err, subscription.ErrTooManyTags) {
		t.Fatalf("got %v, want ErrTooManyTags", err)
	}
	if table.Len() != 0 {
		t.Errorf("got %d lanes, want none", table.Len())
	}
}

func TestTable_aLimitHoldsForEachLane(t *testing.T) {
	table := subscription.LimitedTable(2, 0)
	for s := range subscription.LaneID(10) {
		if err := table.Subscribe(s, 1, sparse(2)); err != nil {
			t.Errorf("lane %d: got %v, want no error", s, err)
		}
	}
}

func TestTable_lookingUpLanesAllocatesNothing(t *testing.T) {
	if testkit.Race {
		t.Skip("the race detector allocates")
	}
	var table subscription.Table
	for s := range subscription.LaneID(16) {
		if err := table.Subscribe(s, 1, mustParseSet(t, "0-99,1/0/19/*/*/*/0/*/*")); err != nil {
			t.Fatal(err)
		}
	}
	dst := make([]subscription.LaneID, 0, 16)
	if n := testing.AllocsPerRun(100, func() { dst = table.AppendWanting(dst[:0], 50) }); n != 0 || len(dst) != 16 {
		t.Errorf("got %v allocations for %d lanes, want 0 for 16", n, len(dst))
	}
}
