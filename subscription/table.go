package subscription

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"tagbus/tags"
)

// Limits of Table for one subscriber, all its subscriptions together.
const (
	MaxParts = 1 << 17 // ranges and masks
	MaxMasks = 1 << 8  // masks
)

// Subscriber identifies a subscriber in a Table: a small number that the
// publisher gives to each connection and may use again after Remove.
type Subscriber uint32

// Table knows which subscriber wants which tags. The zero value is empty. A
// subscriber may hold MaxParts ranges and masks, of which MaxMasks are masks: a
// range is found by bisection, but every mask costs a comparison whenever a tag
// is looked up.
//
// Threads: none of its own; the caller keeps calls apart.
type Table struct {
	partLimit, maskLimit int // 0: MaxParts, MaxMasks; lower in tests

	subscribers map[Subscriber]*wants
	order       []Subscriber // ascending, so that sets of subscribers compare
}

// wants is what one subscriber wants. Lookups go to covered and masks, which
// cost little to change; all is put together when somebody asks for it.
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
// subscriber.
//
// Errors: ErrTooManyTags; then nothing has changed.
func (t *Table) Subscribe(s Subscriber, id uint64, set tags.Set) error {
	old := t.Subscription(s, id)
	if err := t.Room(s, set.Parts()-old.Parts(), masksOf(set)-masksOf(old)); err != nil {
		return err
	}
	w := t.subscribers[s]
	if w == nil {
		w = t.add(s)
	}
	w.replace(old, set)
	w.byID[id] = set
	return nil
}

// Room reports whether a subscriber may hold so many ranges and masks more than
// it does, and so many masks among them. Fewer may be negative.
//
// Errors: ErrTooManyTags, wrapped.
func (t *Table) Room(s Subscriber, parts, masks int) error {
	if w := t.subscribers[s]; w != nil {
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

func (t *Table) add(s Subscriber) *wants {
	if t.subscribers == nil {
		t.subscribers = make(map[Subscriber]*wants)
	}
	w := &wants{byID: make(map[uint64]tags.Set)}
	t.subscribers[s] = w
	i, _ := slices.BinarySearch(t.order, s)
	t.order = slices.Insert(t.order, i, s)
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
func (t *Table) Unsubscribe(s Subscriber, id uint64) (set tags.Set, ok bool) {
	w := t.subscribers[s]
	if w == nil {
		return tags.Set{}, false
	}
	set, ok = w.byID[id]
	if !ok {
		return tags.Set{}, false
	}
	delete(w.byID, id)
	if len(w.byID) == 0 {
		t.Remove(s)
		return set, true
	}
	w.replace(set, tags.Set{})
	return set, true
}

// Remove forgets a subscriber and returns the sets of its subscriptions.
func (t *Table) Remove(s Subscriber) []tags.Set {
	w := t.subscribers[s]
	if w == nil {
		return nil
	}
	delete(t.subscribers, s)
	i, _ := slices.BinarySearch(t.order, s)
	t.order = slices.Delete(t.order, i, i+1)
	return slices.Collect(maps.Values(w.byID))
}

// Subscription returns the set of a subscription; empty if there is none.
func (t *Table) Subscription(s Subscriber, id uint64) tags.Set {
	if w := t.subscribers[s]; w != nil {
		return w.byID[id]
	}
	return tags.Set{}
}

// Set returns the union of what a subscriber wants. The first call after a
// change costs time in proportion to all its ranges and masks.
func (t *Table) Set(s Subscriber) tags.Set {
	if w := t.subscribers[s]; w != nil {
		return w.union()
	}
	return tags.Set{}
}

// Sets appends the sets of the subscriptions of a subscriber to dst.
func (t *Table) Sets(dst []tags.Set, s Subscriber) []tags.Set {
	if w := t.subscribers[s]; w != nil {
		dst = slices.AppendSeq(dst, maps.Values(w.byID))
	}
	return dst
}

// Size returns how many ranges and masks the subscriptions of a subscriber have,
// each counted for itself, and how many of these are masks.
func (t *Table) Size(s Subscriber) (parts, masks int) {
	if w := t.subscribers[s]; w != nil {
		parts, masks = w.parts, w.patterns
	}
	return parts, masks
}

// Overlaps reports whether a subscriber wants some tag of a set.
//
// Cost: a search for each range of the set, if there are no masks.
func (t *Table) Overlaps(s Subscriber, set tags.Set) bool {
	w := t.subscribers[s]
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

// Has tells whether a subscriber wants anything.
func (t *Table) Has(s Subscriber) bool { return t.subscribers[s] != nil }

// Wants tells whether a subscriber wants a tag.
func (t *Table) Wants(s Subscriber, tag tags.Tag) bool {
	w := t.subscribers[s]
	return w != nil && w.contains(tag)
}

// AppendWanting appends the subscribers that want a tag, ascending.
func (t *Table) AppendWanting(dst []Subscriber, tag tags.Tag) []Subscriber {
	for _, s := range t.order {
		if t.subscribers[s].contains(tag) {
			dst = append(dst, s)
		}
	}
	return dst
}
