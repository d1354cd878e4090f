package bus

import (
	"errors"
	"fmt"
	"slices"

	"tagbus/subscription"
)

// standing is where a subscriber says that it stands, before it subscribes
// again.
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

// take returns what belongs to a subscription, and forgets it.
//
// Errors: ErrProtocol, wrapped.
func (s *standing) take(m *subscription.Subscribe) (of standing, err error) {
	if len(s.lists) > 0 && (s.id != m.ID || !m.Resume) {
		return of, protocolError("positions of subscription %d, and then a new subscription %d", s.id, m.ID)
	}
	of, *s = *s, standing{}
	return of, nil
}

// positions returns the positions of the lists.
//
// Errors: ErrProtocol, wrapped.
func (s *standing) positions() (positions []subscription.Position, err error) {
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
	return positions, nil
}

// stands returns how far the tags that the publisher owes a subscription have
// come on earlier connections, so that it can make up for what was missed.
// told are those of the group that need not be said again.
func (src *source) stands(r *request, told map[laneTag]struct{}) (positions []subscription.Position) {
	known := &src.lane(r.sub.lane).received
	note := func(e *tagEntry[received]) {
		if e == nil || e.value.count == 0 || !r.owes(e.tag) {
			return
		}
		key := laneTag{r.sub.lane, e.tag}
		if _, said := told[key]; !said {
			told[key] = struct{}{}
			positions = append(positions, subscription.Position{Tag: e.tag, Count: e.value.count})
		}
	}
	if n, _ := r.sent.Count(); n <= uint64(known.count) {
		for tag := range r.sent.All() {
			note(known.entry(tag))
		}
		return positions
	}
	known.all(note)
	slices.SortFunc(positions, comparePositions)
	return positions
}
