// SPDX-License-Identifier: Apache-2.0

package rec

import "slices"

// spans is a set of counters: ranges in ascending order, between which counters are
// missing.
type spans []countersOf

// countersOf are the counters from first to last.
type countersOf struct{ first, last uint64 }

// add adds a counter, and reports whether it was not there.
func (s *spans) add(n uint64) bool {
	all := *s
	if last := len(all) - 1; last >= 0 && n == all[last].last+1 {
		all[last].last = n
		return true
	}
	at, _ := slices.BinarySearchFunc(all, n, func(c countersOf, n uint64) int { // the first that ends at n or behind it
		switch {
		case c.last < n:
			return -1
		case c.last == n:
			return 0
		}
		return 1
	})
	if at < len(all) && all[at].first <= n {
		return false
	}
	joinsNext := at < len(all) && all[at].first == n+1
	joinsBefore := at > 0 && all[at-1].last+1 == n
	switch {
	case joinsNext && joinsBefore:
		all[at-1].last = all[at].last
		*s = slices.Delete(all, at, at+1)
	case joinsNext:
		all[at].first = n
	case joinsBefore:
		all[at-1].last = n
	default:
		*s = slices.Insert(all, at, countersOf{n, n})
	}
	return true
}

// next returns the smallest counter that is larger than n; false: there is none.
func (s spans) next(n uint64) (uint64, bool) {
	at, _ := slices.BinarySearchFunc(s, n, func(c countersOf, n uint64) int { // the first that ends behind n
		if c.last <= n {
			return -1
		}
		return 1
	})
	if at == len(s) {
		return 0, false
	}
	return max(s[at].first, n+1), true
}
