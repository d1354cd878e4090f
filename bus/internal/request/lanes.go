// SPDX-License-Identifier: Apache-2.0

package request

import (
	"slices"
	"sync"
)

// Lanes gives subscriptions that publishers treat alike the same lane. Lanes are never given
// up: a publisher knows them as long as the connection lives. The zero value has none.
//
//   - C: how publishers treat a subscription.
//
// Threads: any, for all methods.
type Lanes[C comparable] struct {
	mu  sync.Mutex
	all []C // by the number of the lane
}

// Number returns the number of the lane of subscriptions that are treated so.
//
//   - most: how many lanes there may be.
//   - ok: false if it would be one more.
func (l *Lanes[C]) Number(c C, most int) (number uint16, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	i := slices.Index(l.all, c)
	if i < 0 {
		if i = len(l.all); i == most {
			return 0, false
		}
		l.all = append(l.all, c)
	}
	return uint16(i), true
}

// All returns how the subscriptions of each lane are treated, by their numbers.
func (l *Lanes[C]) All() []C {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.all)
}
