// SPDX-License-Identifier: Apache-2.0

package bus

import (
	"errors"

	"tagbus/bus/internal/group"
	"tagbus/bus/internal/positions"
	"tagbus/subscription"
)

// onDropped notes what a subscriber has received of a lane and lost again. Loop only.
func (p *Publisher) onDropped(l *link, m *subscription.Dropped) {
	n := l.out.Lane(m.Lane)
	if n == nil {
		l.fail(protocolError("dropped messages in lane %d, which has no subscription", m.Lane))
		return
	}
	// Each message may be lost once in each subscription of the lane.
	if most := min(n.Received(), positions.Max/group.Max) * group.Max; m.Messages > most {
		l.fail(protocolError("dropped %d messages in lane %d, of %d received", m.Messages, m.Lane, n.Received()))
		return
	}
	n.Account.Drop(m.Cause, m.Messages)
	for of, err := range subscription.PositionsOf(m.List) {
		switch {
		case err != nil:
			l.fail(errors.Join(ErrProtocol, err))
			return
		case of.Count == 0 || of.Count > m.Messages || p.fan.Count(of.Tag) == 0:
			l.fail(protocolError("dropped %d messages of tag %v, of %d in lane %d", of.Count, of.Tag, m.Messages, m.Lane))
			return
		}
		n.Account.DropTag(m.Cause, of.Tag, of.Count)
	}
}
