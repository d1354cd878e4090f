// SPDX-License-Identifier: Apache-2.0

package admission

// Succession is the connections of peers of which only the newest one of each counts. It waits
// until the one before is forgotten, since what is known of the peer is complete then. The zero
// value has none.
//
//   - C: a connection. The zero value is none.
type Succession[C comparable] struct {
	newest map[string]C
	before map[C]C      // for which a connection waits
	next   map[C]func() // of the newest one, called when the connection is forgotten
}

// Newest returns the newest connection of a peer.
func (s *Succession[C]) Newest(instance string) C { return s.newest[instance] }

// Enter makes c the newest connection of a peer.
//
//   - next: called by Leave if c has to wait, unless a newer one has come by then.
//   - old: the connection in whose place it is, to be ended by the user; the zero value: there is
//     none, and c does not wait.
func (s *Succession[C]) Enter(instance string, c C, next func()) (old C) {
	if s.newest == nil {
		s.newest, s.before, s.next = make(map[string]C), make(map[C]C), make(map[C]func())
	}
	var none C
	old = s.newest[instance]
	s.newest[instance] = c
	if old == none {
		return old
	}
	first := old
	if before, waits := s.before[old]; waits { // it waits itself: nothing is known of the peer by it
		first = before
	}
	s.before[c], s.next[first] = first, func() {
		delete(s.before, c)
		next()
	}
	return old
}

// Leave forgets a connection, which may not have entered, and lets the one go on that waits for it.
func (s *Succession[C]) Leave(instance string, c C) {
	before, waits := s.before[c]
	delete(s.before, c)
	if s.newest[instance] == c {
		delete(s.newest, instance)
		if waits { // the next connection has to wait for it, too
			s.newest[instance] = before
		}
	}
	if next := s.next[c]; next != nil {
		delete(s.next, c)
		next()
	}
}
