// SPDX-License-Identifier: Apache-2.0

package rec

import "slices"

// spans is a set of counters: ranges in ascending order, in chunks, so that counters in any
// order cost about the same. Ranges at the border of two chunks may touch. The zero value is
// empty.
type spans struct {
	chunks [][]countersOf
	count  int // of ranges
}

// mostInChunk is when a chunk becomes two.
const mostInChunk = 512

// countersOf are the counters from first to last.
type countersOf struct{ first, last uint64 }

// chunk returns the first chunk that ends at n or behind it, otherwise the last one. There
// is one.
func (s *spans) chunk(n uint64) int {
	last := len(s.chunks) - 1
	at, _ := slices.BinarySearchFunc(s.chunks[:last], n, func(c []countersOf, n uint64) int { return endsBefore(c[len(c)-1], n) })
	return at
}

// endsBefore orders a range and a counter at its end.
func endsBefore(c countersOf, n uint64) int {
	switch {
	case c.last < n:
		return -1
	case c.last == n:
		return 0
	}
	return 1
}

// add adds a counter, and reports whether it was not there.
func (s *spans) add(n uint64) bool {
	if len(s.chunks) == 0 {
		s.chunks, s.count = [][]countersOf{{{n, n}}}, 1
		return true
	}
	in := s.chunk(n)
	all := s.chunks[in]
	if last := len(all) - 1; n > all[last].last && n == all[last].last+1 && (in == len(s.chunks)-1 || n < s.chunks[in+1][0].first) {
		all[last].last = n
		return true
	}
	at, _ := slices.BinarySearchFunc(all, n, endsBefore) // the first that ends at n or behind it
	if at < len(all) && all[at].first <= n {
		return false
	}
	joinsNext := at < len(all) && all[at].first == n+1
	joinsBefore := at > 0 && all[at-1].last+1 == n
	switch {
	case joinsNext && joinsBefore:
		all[at-1].last = all[at].last
		s.chunks[in] = slices.Delete(all, at, at+1)
		s.count--
	case joinsNext:
		all[at].first = n
	case joinsBefore:
		all[at-1].last = n
	default:
		s.count++
		s.chunks[in] = slices.Insert(all, at, countersOf{n, n})
		s.split(in)
	}
	return true
}

// split makes two chunks of one that is too long.
func (s *spans) split(in int) {
	all := s.chunks[in]
	if len(all) < mostInChunk {
		return
	}
	half := len(all) / 2
	if in == len(s.chunks)-1 {
		half = len(all) - 1 // counters mostly ascend
	}
	behind := append(make([]countersOf, 0, mostInChunk/2), all[half:]...)
	s.chunks[in] = slices.Clip(all[:half])
	s.chunks = slices.Insert(s.chunks, in+1, behind)
}

// next returns the smallest counter that is larger than n; false: there is none.
func (s *spans) next(n uint64) (uint64, bool) {
	if len(s.chunks) == 0 || n+1 == 0 {
		return 0, false
	}
	all := s.chunks[s.chunk(n+1)]
	at, _ := slices.BinarySearchFunc(all, n+1, endsBefore) // the first that ends behind n
	if at == len(all) {
		return 0, false
	}
	return max(all[at].first, n+1), true
}
