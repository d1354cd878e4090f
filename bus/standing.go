package bus

import (
	"errors"
	"fmt"

	"tagbus/subscription"
)

// standing is where a subscriber says that it stands, before it subscribes
// again.
type standing struct {
	id    uint64
	lists [][]byte
	bytes int
}

// add takes a list.
//
// Errors: ErrProtocol, wrapped.
func (s *standing) add(m *subscription.Positions, limit int) error {
	const cost = 64 // of a list beyond its bytes
	if len(s.lists) > 0 && s.id != m.ID {
		return protocolError("positions of subscriptions %d and %d mixed", s.id, m.ID)
	}
	if s.bytes += len(m.List) + cost; s.bytes > limit {
		return protocolError("positions of more than %d bytes", limit)
	}
	s.id, s.lists = m.ID, append(s.lists, m.List)
	return nil
}

// take returns the positions that belong to a subscription, and forgets them.
//
// Errors: ErrProtocol, wrapped.
func (s *standing) take(m *subscription.Subscribe) (positions []subscription.Position, err error) {
	if len(s.lists) > 0 && (s.id != m.ID || !m.Resume) {
		return nil, protocolError("positions of subscription %d, and then a new subscription %d", s.id, m.ID)
	}
	for _, list := range s.lists {
		for p, err := range subscription.PositionsOf(list) {
			if last := len(positions) - 1; err == nil && last >= 0 && p.Tag <= positions[last].Tag {
				err = fmt.Errorf("tag %v after %v", p.Tag, positions[last].Tag)
			}
			if err != nil {
				return nil, errors.Join(ErrProtocol, err)
			}
			positions = append(positions, p)
		}
	}
	*s = standing{}
	return positions, nil
}
