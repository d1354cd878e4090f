// SPDX-License-Identifier: Apache-2.0

package positions

import (
	"fmt"

	"tagbus/subscription"
)

// Standing is where a subscriber stands: the positions that it sends before it
// subscribes again. The zero value is empty.
//
// Every error is one of the subscriber, which breaks the protocol.
type Standing struct {
	id    uint64
	lists [][]byte
	count int // of positions in them
}

// Add takes a list, which it keeps. It only counts the positions in it: Next reads them.
//
//   - limit: the most positions of a subscription.
//   - Errors: a list of another subscription than those before; too many positions.
func (s *Standing) Add(m *subscription.Positions, limit int) error {
	if len(s.lists) > 0 && s.id != m.ID {
		return fmt.Errorf("positions of subscriptions %d and %d mixed", s.id, m.ID)
	}
	ends := 0 // of numbers, of which a position has two
	for _, b := range m.List {
		if b < 0x80 {
			ends++
		}
	}
	if s.count += max(1, ends/2); s.count > limit {
		return fmt.Errorf("more than %d positions, of the tags that there are", limit)
	}
	s.id, s.lists = m.ID, append(s.lists, m.List)
	return nil
}

// Take returns the positions of a subscription, and forgets them.
//
// Errors: the lists are of another subscription, or of one that does not resume.
func (s *Standing) Take(m *subscription.Subscribe) (of Standing, err error) {
	if len(s.lists) > 0 && (s.id != m.ID || !m.Resume) {
		return of, fmt.Errorf("positions of subscription %d, and then a new subscription %d", s.id, m.ID)
	}
	of, *s = *s, Standing{}
	return of, nil
}

// Count returns how many positions Add has counted. An empty list counts as one.
func (s *Standing) Count() int { return s.count }

// Left returns how many lists Next has not read.
func (s *Standing) Left() int { return len(s.lists) }

// Next reads a list, which must be left, and appends its positions to those of the lists
// before it.
//
// Errors: a damaged list; tags that do not ascend from list to list.
func (s *Standing) Next(positions []subscription.Position) ([]subscription.Position, error) {
	for p, err := range subscription.PositionsOf(s.lists[0]) {
		if last := len(positions) - 1; err == nil && last >= 0 && p.Tag <= positions[last].Tag {
			err = fmt.Errorf("tag %v after %v", p.Tag, positions[last].Tag)
		}
		if err != nil {
			return positions, err
		}
		positions = append(positions, p)
	}
	s.lists = s.lists[1:]
	return positions, nil
}
