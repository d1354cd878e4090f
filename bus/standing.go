package bus

import (
	"errors"
	"fmt"

	"tagbus/subscription"
)

// standing is the positions that a subscriber sends before it subscribes again.
type standing struct {
	id    uint64
	lists [][]byte
	count int // of positions in them
}

// add takes a list.
//
//   - limit: the most positions of a subscription.
//
// Errors: ErrProtocol, wrapped.
func (s *standing) add(m *subscription.Positions, limit int) error {
	if len(s.lists) > 0 && s.id != m.ID {
		return protocolError("positions of subscriptions %d and %d mixed", s.id, m.ID)
	}
	ends := 0 // of numbers, of which a position has two
	for _, b := range m.List {
		if b < 0x80 {
			ends++
		}
	}
	if s.count += max(1, ends/2); s.count > limit {
		return protocolError("more than %d positions, of the tags that there are", limit)
	}
	s.id, s.lists = m.ID, append(s.lists, m.List)
	return nil
}

// take returns the positions of a subscription, and forgets them.
//
// Errors: ErrProtocol, wrapped.
func (s *standing) take(m *subscription.Subscribe) (of standing, err error) {
	if len(s.lists) > 0 && (s.id != m.ID || !m.Resume) {
		return of, protocolError("positions of subscription %d, and then a new subscription %d", s.id, m.ID)
	}
	of, *s = *s, standing{}
	return of, nil
}

// decode appends the positions of the next list to those of the lists before it. A
// list is one control message.
//
// Errors: ErrProtocol, wrapped.
func (s *standing) decode(positions []subscription.Position) ([]subscription.Position, error) {
	for p, err := range subscription.PositionsOf(s.lists[0]) {
		if last := len(positions) - 1; err == nil && last >= 0 && p.Tag <= positions[last].Tag {
			err = fmt.Errorf("tag %v after %v", p.Tag, positions[last].Tag)
		}
		if err != nil {
			return positions, errors.Join(ErrProtocol, err)
		}
		positions = append(positions, p)
	}
	s.lists = s.lists[1:]
	return positions, nil
}
