package subscription

import (
	"cmp"
	"fmt"
	"slices"

	"tagbus/tags"
)

// Default limits of Table for one subscriber, all its subscriptions together.
const (
	MaxParts = 1 << 17 // ranges and masks
	MaxMasks = 1 << 8  // masks
)

// Subscriber identifies a subscriber in a Table: a small number that the
// publisher gives to each connection and may use again after Remove.
type Subscriber uint32

// Table knows which subscriber wants which tags. The zero value is empty and
// has the default limits.
//
// Threads: none of its own; the caller keeps calls apart.
type Table struct {
	// Limit is the most ranges and masks that one subscriber may hold.
	// 0 means MaxParts.
	Limit int

	// MaskLimit is the most masks among them. A range is found by bisection,
	// but every mask costs a comparison whenever a tag is looked up.
	// 0 means MaxMasks.
	MaskLimit int

	subscribers map[Subscriber]*wants
	order       []Subscriber // ascending, so that sets of subscribers compare
}

type wants struct {
	byID map[uint64]tags.Set
	all  tags.Set // union of byID

	parts, masks int // of byID, each subscription counted for itself
}

// Subscribe adds a subscription, or replaces the one with the same id.
//
// Errors: ErrTooManyTags; then nothing has changed.
func (t *Table) Subscribe(s Subscriber, id uint64, set tags.Set) error {
	w := t.subscribers[s]
	if err := t.checkLimits(w, id, set); err != nil {
		return err
	}
	if w == nil {
		w = t.add(s)
	}
	replaced, replaces := w.byID[id]
	w.count(replaced, -1)
	w.count(set, 1)
	w.byID[id] = set
	if replaces {
		w.unite()
	} else {
		w.all = w.all.Union(set)
	}
	return nil
}

// checkLimits tells whether w, which may be nil, may hold set as id.
func (t *Table) checkLimits(w *wants, id uint64, set tags.Set) error {
	parts, masks := set.Parts(), masksOf(set)
	if w != nil {
		replaced := w.byID[id]
		parts += w.parts - replaced.Parts()
		masks += w.masks - masksOf(replaced)
	}
	if limit := cmp.Or(t.Limit, MaxParts); parts > limit {
		return fmt.Errorf("%w: %d ranges and masks, limit %d: subscribe to ranges instead of single tags", ErrTooManyTags, parts, limit)
	}
	if limit := cmp.Or(t.MaskLimit, MaxMasks); masks > limit {
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

// count adds or takes away what a set counts for the limits.
func (w *wants) count(set tags.Set, sign int) {
	w.parts += sign * set.Parts()
	w.masks += sign * masksOf(set)
}

func (w *wants) unite() {
	sets := make([]tags.Set, 0, len(w.byID))
	for _, set := range w.byID {
		sets = append(sets, set)
	}
	w.all = tags.Union(sets...)
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
	w.count(set, -1)
	if len(w.byID) == 0 {
		t.Remove(s)
		return set, true
	}
	w.unite()
	return set, true
}

// Remove forgets a subscriber and returns what it wanted.
func (t *Table) Remove(s Subscriber) tags.Set {
	w := t.subscribers[s]
	if w == nil {
		return tags.Set{}
	}
	delete(t.subscribers, s)
	i, _ := slices.BinarySearch(t.order, s)
	t.order = slices.Delete(t.order, i, i+1)
	return w.all
}

// Set returns the union of what a subscriber wants.
func (t *Table) Set(s Subscriber) tags.Set {
	if w := t.subscribers[s]; w != nil {
		return w.all
	}
	return tags.Set{}
}

// Wants tells whether a subscriber wants a tag.
func (t *Table) Wants(s Subscriber, tag tags.Tag) bool {
	w := t.subscribers[s]
	return w != nil && w.all.Contains(tag)
}

// AppendWanting appends the subscribers that want a tag, ascending.
func (t *Table) AppendWanting(dst []Subscriber, tag tags.Tag) []Subscriber {
	for _, s := range t.order {
		if t.subscribers[s].all.Contains(tag) {
			dst = append(dst, s)
		}
	}
	return dst
}

// Len returns the number of subscribers that want anything.
func (t *Table) Len() int { return len(t.order) }

// Union returns what all subscribers together want.
func (t *Table) Union() tags.Set {
	sets := make([]tags.Set, 0, len(t.order))
	for _, s := range t.order {
		sets = append(sets, t.subscribers[s].all)
	}
	return tags.Union(sets...)
}
