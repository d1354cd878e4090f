package bus

import (
	"cmp"
	"slices"

	"tagbus/bus/internal/chores"
)

// subscriptionList has the open subscriptions of a subscriber in the order of their
// ids, which is that of their ages. It can be walked in slices, even if it changes
// between two of them. Loop only.
type subscriptionList struct {
	byID  map[uint64]*Subscription
	order []listedSubscription
}

type listedSubscription struct {
	id  uint64
	sub *Subscription // nil: it is gone
}

// minListed is the length below which a list keeps the places of removed subscriptions.
const minListed = 64

func (l *subscriptionList) has(sub *Subscription) bool { return l.byID[sub.id] != nil }

func (l *subscriptionList) add(sub *Subscription) {
	if l.byID == nil {
		l.byID = make(map[uint64]*Subscription)
	}
	l.byID[sub.id] = sub
	i := len(l.order)
	for i > 0 && l.order[i-1].id > sub.id { // another goroutine was quicker
		i--
	}
	l.order = slices.Insert(l.order, i, listedSubscription{sub.id, sub})
}

func (l *subscriptionList) remove(sub *Subscription) {
	if !l.has(sub) {
		return
	}
	delete(l.byID, sub.id)
	l.order[l.find(sub.id)].sub = nil
	if len(l.order) > 2*len(l.byID)+minListed {
		l.order = slices.DeleteFunc(l.order, func(x listedSubscription) bool { return x.sub == nil })
	}
}

// find returns the place of the first subscription whose id is not below id.
func (l *subscriptionList) find(id uint64) int {
	i, _ := slices.BinarySearchFunc(l.order, id, func(x listedSubscription, id uint64) int { return cmp.Compare(x.id, id) })
	return i
}

// all yields every subscription, at once.
func (l *subscriptionList) all(yield func(*Subscription) bool) {
	for _, x := range l.order {
		if x.sub != nil && !yield(x.sub) {
			return
		}
	}
}

// each returns a job that calls f for every subscription, except those added meanwhile.
// f returns the steps that it has taken.
func (l *subscriptionList) each(f func(*Subscription) (steps int)) chores.Job {
	next, end := uint64(0), uint64(0)
	if n := len(l.order); n > 0 {
		end = l.order[n-1].id + 1
	}
	return func(budget int) (steps int, done bool) {
		for i := l.find(next); i < len(l.order) && next < end; i++ {
			x := l.order[i]
			if x.id >= end {
				break
			}
			if steps >= budget {
				return steps, false
			}
			steps++
			if next = x.id + 1; x.sub != nil {
				steps += f(x.sub)
				if i >= len(l.order) || l.order[i].id != x.id { // f has removed some
					i = l.find(next) - 1
				}
			}
		}
		return steps, true
	}
}
