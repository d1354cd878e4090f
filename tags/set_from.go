package tags

import "iter"

// From yields every tag of the set that is not below first, in ascending order. Like
// All, it finds them as they are asked for: to begin takes O(log r + m log m) with r
// ranges and m patterns.
func (s Set) From(first Tag) iter.Seq[Tag] {
	return func(yield func(Tag) bool) {
		m := newMerge(s, first)
		for {
			t, ok := m.pop()
			if !ok || !yield(t) {
				return
			}
		}
	}
}
