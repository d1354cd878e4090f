// SPDX-License-Identifier: Apache-2.0

package tags

// MaxSteps is how many steps Without, Intersection, Intersects and Count may take
// beyond those for the ranges of their sets: a few milliseconds. Sets of ranges never
// need as many; those with hundreds of patterns may.
const MaxSteps = 1 << 20

// Weights of what takes longer than a step, the comparison of two patterns.
const (
	stepsPerPiece = 8  // a pattern that is made, and sorted in the end
	stepsPerLeap  = 2  // from a tag of a pattern to the next range and back
	rangesPerStep = 8  // ranges that are moved
	stepsPerRank  = 16 // counting the tags of a pattern below another
)

// Budget bounds the work of several set operations together, for programs that get
// their sets from others. A step is about the comparison of two patterns; a range takes two.
//
// Threads: none of its own.
type Budget struct{ work work }

// NewBudget returns a budget of so many steps.
func NewBudget(steps int) *Budget { return &Budget{work{steps}} }

// Left returns how many steps are left; negative when the last operation needed more
// than there were.
func (b *Budget) Left() int { return b.work.left }

// Add adds steps.
func (b *Budget) Add(steps int) { b.work.left += steps }

// Without is Set.Without.
//
//   - Errors: ErrTooComplex, also when the budget is spent.
func (b *Budget) Without(s, o Set) (Set, error) { return s.without(o, &b.work) }

// Intersection is Set.Intersection.
//
//   - Errors: as Without.
func (b *Budget) Intersection(s, o Set) (Set, error) { return s.intersection(o, &b.work) }

// Intersects is Set.Intersects.
//
//   - Errors: ErrTooComplex when the budget is spent before the answer is known.
func (b *Budget) Intersects(s, o Set) (bool, error) { return s.intersects(o, &b.work) }

// work counts the steps that are left; negative: it is over.
type work struct{ left int }

// spend takes steps, and reports whether there were as many.
func (w *work) spend(steps int) bool {
	w.left -= steps
	return w.left >= 0
}

func (w *work) over() bool { return w.left < 0 }

// workWith returns what an operation with o may take.
func (s Set) workWith(o Set) *work {
	return &work{MaxSteps + 2*(len(s.ranges)+len(o.ranges))}
}
