// SPDX-License-Identifier: Apache-2.0

package overlap

import (
	"cmp"
	"math/rand/v2"

	"tagbus/tags"
)

// intervals is intervals of tags, each with its owner, in a search tree: by their first
// tags, and each node has the last tag of all below it. The order of the nodes in the
// other direction is random (a treap), so that strangers cannot make the tree deep. The
// zero value is empty.
type intervals[S any] struct {
	root  *node[S]
	steps int // nodes visited so far
}

// node is an interval.
type node[S any] struct {
	lo, hi      tags.Tag
	owner       *Publisher[S]
	last        tags.Tag // the largest hi of this node and those below
	height      uint64   // random; not below that of any node below
	left, right *node[S]
}

// compare orders by the first tag, and then by the owner: the intervals of one owner begin
// with different tags.
func (n *node[S]) compare(lo tags.Tag, owner *Publisher[S]) int {
	return cmp.Or(cmp.Compare(n.lo, lo), cmp.Compare(n.owner.number, owner.number))
}

// measure sets what a node knows of those below.
func (n *node[S]) measure() {
	n.last = n.hi
	for _, below := range [2]*node[S]{n.left, n.right} {
		if below != nil {
			n.last = max(n.last, below.last)
		}
	}
}

// add adds an interval.
func (x *intervals[S]) add(lo, hi tags.Tag, owner *Publisher[S]) {
	x.root = x.insert(x.root, &node[S]{lo: lo, hi: hi, last: hi, owner: owner, height: rand.Uint64()})
}

func (x *intervals[S]) insert(at, n *node[S]) *node[S] {
	x.steps++
	switch {
	case at == nil:
		return n
	case n.height > at.height:
		n.left, n.right = x.split(at, n)
		n.measure()
		return n
	case at.compare(n.lo, n.owner) < 0:
		at.right = x.insert(at.right, n)
	default:
		at.left = x.insert(at.left, n)
	}
	at.measure()
	return at
}

// split returns the nodes of a tree before and after one that is not in it.
func (x *intervals[S]) split(at, n *node[S]) (before, after *node[S]) {
	x.steps++
	if at == nil {
		return nil, nil
	}
	if at.compare(n.lo, n.owner) < 0 {
		at.right, after = x.split(at.right, n)
		before = at
	} else {
		before, at.left = x.split(at.left, n)
		after = at
	}
	at.measure()
	return before, after
}

// remove removes the interval of an owner that begins with a tag, if there is one.
func (x *intervals[S]) remove(lo tags.Tag, owner *Publisher[S]) { x.root = x.cut(x.root, lo, owner) }

func (x *intervals[S]) cut(at *node[S], lo tags.Tag, owner *Publisher[S]) *node[S] {
	x.steps++
	if at == nil {
		return nil
	}
	switch order := at.compare(lo, owner); {
	case order == 0:
		return x.join(at.left, at.right)
	case order < 0:
		at.right = x.cut(at.right, lo, owner)
	default:
		at.left = x.cut(at.left, lo, owner)
	}
	at.measure()
	return at
}

// join returns the tree of two, of which the first is before the second.
func (x *intervals[S]) join(a, b *node[S]) *node[S] {
	x.steps++
	switch {
	case a == nil:
		return b
	case b == nil:
		return a
	case a.height > b.height:
		a.right = x.join(a.right, b)
		a.measure()
		return a
	default:
		b.left = x.join(a, b.left)
		b.measure()
		return b
	}
}

// meet calls f with each interval that has a tag from lo to hi, until f returns false.
func (x *intervals[S]) meet(lo, hi tags.Tag, f func(*Publisher[S]) bool) { x.visit(x.root, lo, hi, f) }

func (x *intervals[S]) visit(at *node[S], lo, hi tags.Tag, f func(*Publisher[S]) bool) (more bool) {
	x.steps++
	switch {
	case at == nil || at.last < lo:
		return true
	case !x.visit(at.left, lo, hi, f):
		return false
	case at.lo > hi:
		return true
	case at.hi >= lo && !f(at.owner):
		return false
	}
	return x.visit(at.right, lo, hi, f)
}
