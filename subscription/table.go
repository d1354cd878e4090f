// SPDX-License-Identifier: Apache-2.0

package subscription

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"tagbus/tags"
)

// Limits of Table for one lane, all its subscriptions together.
const (
	MaxParts = 1 << 17 // ranges and masks
	MaxMasks = 1 << 8  // masks
)

// LaneID identifies a lane in a Table: the subscriptions of one connection that
// share a queue at the publisher. It is a small number, which the publisher chooses
// among those of all connections and may use again after Remove; Subscribe.Lane
// counts the lanes of one connection.
type LaneID uint32

// Table knows which lane wants which tags. The zero value is empty. A lane may
// hold MaxParts ranges and masks, of which MaxMasks are masks: a range is found by
// bisection, but every mask costs a comparison whenever a tag is looked up.
//
// Threads: none of its own; the caller keeps calls apart.
type Table struct {
	partLimit, maskLimit int // 0: MaxParts, MaxMasks; lower in tests

	lanes map[LaneID]*wants
	order []LaneID // ascending, so that sets of lanes compare
}

// wants is what one lane wants. Lookups go to covered and masks, which
// cost little to change; all is put together on demand.
type wants struct {
	byID    map[uint64]tags.Set
	covered coverage    // by the ranges of byID
	masks   []maskCount // of byID
	all     tags.Set    // union of byID, unless stale
	stale   bool

	parts, patterns int // of byID, each subscription counted for itself
}

// maskCount counts how many subscriptions have a pattern.
type maskCount struct {
	value, mask tags.Tag
	count       int
}

// Subscribe adds a subscription, or replaces the one with the same id.
//
// Cost: a comparison for each range that the old and the new set have in common,
// and a search for each other one; never more than a walk along all ranges of the
// lane.
//
// Errors: ErrTooManyTags; then nothing has changed.
func (t *Table) Subscribe(l LaneID, id uint64, set tags.Set) error {
	old := t.Subscription(l, id)
	if err := t.Room(l, set.Parts()-old.Parts(), masksOf(set)-masksOf(old)); err != nil {
		return err
	}
	w := t.lanes[l]
	if w == nil {
		w = t.add(l)
	}
	w.replace(old, set)
	w.byID[id] = set
	return nil
}

// Room reports whether a lane may hold so many ranges and masks more than
// it does, and so many masks among them. Fewer may be negative.
//
// Errors: ErrTooManyTags, wrapped.
func (t *Table) Room(l LaneID, parts, masks int) error {
	if w := t.lanes[l]; w != nil {
		parts, masks = parts+w.parts, masks+w.patterns
	}
	if limit := cmp.Or(t.partLimit, MaxParts); parts > limit {
		return fmt.Errorf("%w: %d ranges and masks, limit %d: subscribe to ranges instead of single tags", ErrTooManyTags, parts, limit)
	}
	if limit := cmp.Or(t.maskLimit, MaxMasks); masks > limit {
		return fmt.Errorf("%w: %d masks, limit %d: subscribe to ranges instead of masks", ErrTooManyTags, masks, limit)
	}
	return nil
}

func masksOf(set tags.Set) (n int) {
	for range set.Masks() {
		n++
	}
	return n
}

func (t *Table) add(l LaneID) *wants {
	if t.lanes == nil {
		t.lanes = make(map[LaneID]*wants)
	}
	w := &wants{byID: make(map[uint64]tags.Set)}
	t.lanes[l] = w
	i, _ := slices.BinarySearch(t.order, l)
	t.order = slices.Insert(t.order, i, l)
	return w
}

// replace lets set count instead of old. What both have costs a comparison
// only.
func (w *wants) replace(old, set tags.Set) {
	w.stale = true
	w.parts += set.Parts() - old.Parts()
	var added, removed []span
	before, after := rangesOf(old), rangesOf(set)
	for len(before) > 0 || len(after) > 0 {
		switch {
		case len(before) == 0 || len(after) > 0 && after[0].less(before[0]):
			added, after = append(added, after[0]), after[1:]
		case len(after) == 0 || before[0].less(after[0]):
			removed, before = append(removed, before[0]), before[1:]
		default:
			before, after = before[1:], after[1:]
		}
	}
	w.covered.changeAll(added, removed)
	for value, mask := range old.Masks() {
		w.countMask(value, mask, -1)
	}
	for value, mask := range set.Masks() {
		w.countMask(value, mask, 1)
	}
}

// span is a range of a set.
type span struct{ lo, hi tags.Tag }

func (s span) less(o span) bool { return s.lo < o.lo || s.lo == o.lo && s.hi < o.hi }

func rangesOf(set tags.Set) []span {
	if set.IsEmpty() {
		return nil
	}
	spans := make([]span, 0, set.Parts())
	for lo, hi := range set.Ranges() {
		spans = append(spans, span{lo, hi})
	}
	return spans
}

func (w *wants) countMask(value, mask tags.Tag, by int) {
	w.patterns += by
	i := slices.IndexFunc(w.masks, func(m maskCount) bool { return m.value == value && m.mask == mask })
	if i < 0 {
		w.masks = append(w.masks, maskCount{value, mask, by})
		return
	}
	if w.masks[i].count += by; w.masks[i].count == 0 {
		w.masks = slices.Delete(w.masks, i, i+1)
	}
}

func (w *wants) contains(tag tags.Tag) bool {
	if w.covered.contains(tag) {
		return true
	}
	for _, m := range w.masks {
		if tag&m.mask == m.value {
			return true
		}
	}
	return false
}

func (w *wants) union() tags.Set {
	if w.stale {
		w.all, w.stale = tags.Union(slices.Collect(maps.Values(w.byID))...), false
	}
	return w.all
}

// Unsubscribe ends a subscription and returns its set; ok is false if there
// was none.
func (t *Table) Unsubscribe(l LaneID, id uint64) (set tags.Set, ok bool) {
	w := t.lanes[l]
	if w == nil {
		return tags.Set{}, false
	}
	set, ok = w.byID[id]
	if !ok {
		return tags.Set{}, false
	}
	delete(w.byID, id)
	if len(w.byID) == 0 {
		t.Remove(l)
		return set, true
	}
	w.replace(set, tags.Set{})
	return set, true
}

// Remove forgets a lane and returns the sets of its subscriptions.
func (t *Table) Remove(l LaneID) []tags.Set {
	w := t.lanes[l]
	if w == nil {
		return nil
	}
	delete(t.lanes, l)
	i, _ := slices.BinarySearch(t.order, l)
	t.order = slices.Delete(t.order, i, i+1)
	return slices.Collect(maps.Values(w.byID))
}

// Subscription returns the set of a subscription; empty if there is none.
func (t *Table) Subscription(l LaneID, id uint64) tags.Set {
	if w := t.lanes[l]; w != nil {
		return w.byID[id]
	}
	return tags.Set{}
}

// Set returns the union of what a lane wants. The first call after a
// change costs time in proportion to all its ranges and masks.
func (t *Table) Set(l LaneID) tags.Set {
	if w := t.lanes[l]; w != nil {
		return w.union()
	}
	return tags.Set{}
}

// Sets appends the sets of the subscriptions of a lane to dst.
func (t *Table) Sets(dst []tags.Set, l LaneID) []tags.Set {
	if w := t.lanes[l]; w != nil {
		dst = slices.AppendSeq(dst, maps.Values(w.byID))
	}
	return dst
}

// Size returns how many ranges and masks the subscriptions of a lane have,
// each counted for itself, and how many of these are masks.
func (t *Table) Size(l LaneID) (parts, masks int) {
	if w := t.lanes[l]; w != nil {
		parts, masks = w.parts, w.patterns
	}
	return parts, masks
}

// Overlaps reports whether a lane wants some tag of a set.
//
// Cost: a search for each range of the set, if there are no masks.
func (t *Table) Overlaps(l LaneID, set tags.Set) bool {
	w := t.lanes[l]
	if w == nil {
		return false
	}
	if len(w.masks) > 0 || masksOf(set) > 0 {
		return w.union().Intersects(set)
	}
	for lo, hi := range set.Ranges() {
		if w.covered.overlaps(lo, hi) {
			return true
		}
	}
	return false
}

// Has reports whether a lane wants anything.
func (t *Table) Has(l LaneID) bool { return t.lanes[l] != nil }

// Wants reports whether a lane wants a tag.
func (t *Table) Wants(l LaneID, tag tags.Tag) bool {
	w := t.lanes[l]
	return w != nil && w.contains(tag)
}

// AppendWanting appends the lanes that want a tag, ascending.
func (t *Table) AppendWanting(dst []LaneID, tag tags.Tag) []LaneID {
	for _, l := range t.order {
		if t.lanes[l].contains(tag) {
			dst = append(dst, l)
		}
	}
	return dst
}
