// SPDX-License-Identifier: Apache-2.0

package tagset

import "tagbus/tags"

// Owners remembers which of several owners, each with a name, was the last to take a
// tag. The zero value knows of none.
//
// Threads: one at a time.
type Owners struct{ last []owner }

// owner is an owner with the tags that it was the last to take.
type owner struct {
	name string
	set  tags.Set
}

// HandOver notes that an owner takes some sets. It returns those tags of them that
// another one took last, or more where that is too complex to find out.
func (o *Owners) HandOver(name string, taken []tags.Set) (lost []tags.Set) {
	if len(taken) == 0 {
		return nil
	}
	set := tags.Union(taken...)
	own := owner{name, set}
	others := o.last[:0]
	for _, other := range o.last {
		switch {
		case other.name == name:
			own.set = own.set.Union(other.set)
			continue
		case other.set.Intersects(set):
			both, err := set.Intersection(other.set)
			if err != nil {
				both = set
			}
			lost = append(lost, both)
			if left, err := other.set.Without(set); err == nil {
				other.set = left // otherwise it is returned again the next time
			}
		}
		if !other.set.IsEmpty() {
			others = append(others, other)
		}
	}
	clear(o.last[len(others):])
	o.last = append(others, own)
	return lost
}
