// SPDX-License-Identifier: Apache-2.0

package tcp

import "tagbus/internal/invariants"

// scratch is the block into which all endpoints of a backend read, one after
// the other. What lies before used belongs to messages that are retained.
//
// Threads: the loop.
type scratch struct {
	block *block
	used  int
}

// open returns memory to read to, at least half a block, until open is called
// again. Errors: the system's (no memory).
func (s *scratch) open(m *memory) ([]byte, error) {
	if s.used > 0 && !s.block.retained() {
		if invariants.Enabled {
			invariants.Poison(s.block.mem[:s.used])
		}
		s.used = 0
	}
	if s.used > scratchBytes/2 {
		b, err := m.get(scratchBytes)
		if err != nil {
			return nil, err
		}
		m.put(s.exchange(b))
	}
	return s.block.mem[s.used:], nil
}

// keep keeps the first n bytes of what open has returned from being used again
// while messages are retained. So a block full of small ones holds them all.
func (s *scratch) keep(n int) {
	const align = 64 // a cache line
	s.used = min((s.used+n+align-1)/align*align, len(s.block.mem))
}

// exchange returns the block, and goes on in another one.
func (s *scratch) exchange(b *block) *block {
	old := s.block
	s.block, s.used = b, 0
	return old
}
