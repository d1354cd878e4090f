package bus

import (
	"errors"
	"fmt"

	"tagbus/subscription"
	"tagbus/tags"
)

// wish is a subscription that a subscriber asks for.
type wish struct {
	request *subscription.Subscribe // without its set
	set     tags.Set
	stands  []subscription.Position // where the subscriber says that it stands
	lane    *lane
	policy  Policy
	parts   int   // ranges and masks that are reserved for it
	masks   int   // of these
	err     error // why it is refused
}

// onSubscribe puts the parts of a set together.
func (p *Publisher) onSubscribe(l *link, m *subscription.Subscribe) {
	if len(l.part) > 0 && l.partID != m.ID {
		l.fail(fmt.Errorf("%w: parts of subscriptions %d and %d mixed", ErrProtocol, l.partID, m.ID))
		return
	}
	if len(l.part)+len(m.Set) > maxSubscribeBytes {
		l.fail(fmt.Errorf("%w: subscription of more than %d bytes", ErrProtocol, maxSubscribeBytes))
		return
	}
	l.partID, l.part = m.ID, append(l.part, m.Set...)
	if m.More {
		return
	}
	var set tags.Set
	err := set.UnmarshalBinary(l.part)
	l.part = nil
	if err == nil && set.IsEmpty() {
		err = ErrEmptySet // the limits count tags, so these could be without number
	}
	var stands []subscription.Position
	if err == nil {
		stands, err = l.standing.take(m)
	}
	if err != nil {
		l.fail(errors.Join(ErrProtocol, err))
		return
	}
	m.Set = nil
	l.group = append(l.group, wish{request: m, set: set, stands: stands})
	l.groupParts += set.Parts()
	l.groupStand += len(stands)
	if err := p.checkGroup(l); err != nil {
		l.fail(err)
		return
	}
	if m.WithNext {
		return
	}
	group := l.group
	l.group, l.groupParts, l.groupStand = nil, 0, 0
	l.subscribe(group)
}

// checkGroup keeps a group that is not complete from growing without end.
//
// Errors: ErrProtocol, wrapped.
func (p *Publisher) checkGroup(l *link) error {
	const maxParts = maxLanes * subscription.MaxParts
	if len(l.group) > maxGroup || l.groupParts > maxParts {
		return protocolError("group of more than %d subscriptions or %d ranges and masks", maxGroup, maxParts)
	}
	if most := maxLanes * int(p.knownTags.Load()); l.groupStand > most+maxGroup {
		return protocolError("group with %d positions, of %d that there can be", l.groupStand, most)
	}
	return nil
}

// refuseSubscription answers why a subscription is not made active.
func (l *link) refuseSubscription(w *wish) {
	l.send(nil, refusal(w.request.ID, w.err))
}
