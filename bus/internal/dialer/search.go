// SPDX-License-Identifier: Apache-2.0

package dialer

import "time"

// Bounds of a Search.
const (
	maxSearchTries = 3
	searchTime     = 2 * time.Second // after which there is no other try
)

// Search is the search for a peer that has left the directory: it may be ending, and wait
// for those whose connections are just lost. Its last addresses are dialed a few times
// before it is given up. The zero value has not begun.
type Search struct {
	on    bool
	done  bool // without success
	tries int
	begun time.Time
}

// On reports whether the peer is being searched.
func (s *Search) On() bool { return s.on }

// Done reports whether a search has ended without success.
func (s *Search) Done() bool { return s.done }

// Begin begins the search.
//
//   - tried: the peer has been dialed without success already: there is only one more try.
func (s *Search) Begin(tried bool) {
	*s = Search{on: true, begun: time.Now()}
	if tried {
		s.tries = maxSearchTries - 1
	}
}

// Failed notes that a try to connect has failed, and reports whether it was the last one.
func (s *Search) Failed() (last bool) {
	if s.tries++; s.tries < maxSearchTries && time.Since(s.begun) <= searchTime {
		return false
	}
	s.End()
	return true
}

// End ends the search without success.
func (s *Search) End() { s.on, s.done = false, true }
