package subscription

import (
	"fmt"
	"slices"

	"tagbus/tags"
)

// MaxParts is the default limit of Table for the ranges and masks of one
// subscriber, all its subscriptions together.
const MaxParts = 1 << 17

// Subscriber identifies a subscriber in a Table: a small number that the
// publisher gives to each connection and may use again after Remove.
type Subscriber uint32

// Table knows which subscriber wants which tags. The zero value is empty and
// allows MaxParts.
//
// Threads: none of its own; the caller keeps calls apart.
type Table struct {
	// Limit is the most ranges and masks that one subscriber may hold.
	// 0 means MaxParts.
	Limit int

	subscribers map[Subscriber]*wants
	order       []Subscriber // ascending, so that sets of subscribers compare
}

type wants struct {
	byID map[uint64]tags.Set
	all  tags.Set // union of byID
}

// Subscribe adds a subscription, or replaces the one with the same id.
//
// Errors: ErrTooManyTags; then nothing has changed.
func (t *Table) Subscribe(s Subscriber, id uint64, set tags.Set) error {
	w := t.subscribers[s]
	parts := set.Parts()
	if w != nil {
		for other, held := range w.byID {
			if other != id {
				parts += held.Parts()
			}
		}
	}
	limit := t.Limit
	if limit == 0 {
		limit = MaxParts
	}
	if parts > limit {
		return fmt.Errorf("%w: %d ranges and masks, limit %d: subscribe to ranges instead of single tags", ErrTooManyTags, parts, limit)
	}
	if w == nil {
		w = t.add(s)
	}
	w.byID[id] = set
	w.unite()
	return nil
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
