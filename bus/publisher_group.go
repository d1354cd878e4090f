package bus

import (
	"container/list"
	"errors"
	"fmt"

	"tagbus/bus/internal/fanout"
	"tagbus/bus/internal/positions"
	"tagbus/bus/internal/tagset"
	"tagbus/subscription"
	"tagbus/tags"
)

// Bounds of what a publisher holds of groups of subscriptions that are not complete.
const (
	// maxGroupsBytes bounds the incomplete groups of all connections together. A
	// hundred subscribers that resume 100,000 tags each at the same time need as much.
	maxGroupsBytes = 256 << 20

	// The cost of a group beyond the bytes of its sets and lists, about as much as they
	// take.
	wishBytes  = 512 // of a subscription
	rangeBytes = 16  // of a range or mask of a decoded set
	listBytes  = 64  // of a list of positions

	// freePositions is how many positions of unknown tags a subscriber may list.
	freePositions = 1024
)

// maxSetBytes returns the largest size of a set that is not refused.
//
//   - ranges: that it has, as its head says.
func maxSetBytes(ranges int) int {
	const head, perPart = 21, 20 // see tags.ClaimedRanges
	return head + perPart*(ranges+subscription.MaxMasks)
}

// incoming is the part received so far of a group of subscriptions. Loop only.
type incoming struct {
	id       uint64 // of the set that comes
	some     bool   // of that set some has come
	part     []byte // of the set so far
	room     int    // the most bytes that it may take; 0: its head has yet to come
	excess   error  // why the set is not kept: it is going to be refused
	standing positions.Standing
	wishes   []fanout.Wish // complete; the rest of the group has yet to come
	parts    int           // of their sets
	stands   int           // positions of them
	bytes    int           // counted in groups.bytes
	place    *list.Element // in groups.begun; nil while there is no group
}

// groups are the incomplete groups of all connections of a publisher. Loop only.
type groups struct {
	begun list.List // of *link, the oldest first
	bytes int
}

// hold counts memory of an incomplete group. If all together take too much, the
// connections with the oldest groups end: these are abandoned most likely.
func (p *Publisher) hold(l *link, bytes int) {
	g := &p.groups
	l.incomplete.bytes += bytes
	g.bytes += bytes
	if l.incomplete.place == nil {
		l.incomplete.place = g.begun.PushBack(l)
		l.awaitSubscription()
	}
	for g.bytes > maxGroupsBytes {
		oldest := g.begun.Front().Value.(*link)
		p.dropGroup(oldest)
		oldest.end(fmt.Errorf("%w: %d bytes, limit %d", ErrGroupMemory, g.bytes, maxGroupsBytes))
	}
}

// dropGroup forgets an incomplete group.
func (p *Publisher) dropGroup(l *link) {
	if l.incomplete.place != nil {
		p.groups.begun.Remove(l.incomplete.place)
	}
	p.groups.bytes -= l.incomplete.bytes
	l.incomplete = incoming{}
}

// onPositions takes the positions of a subscriber that is about to resume a
// subscription.
func (p *Publisher) onPositions(l *link, m *subscription.Positions) {
	if l.fault != nil {
		return // it is closing
	}
	err := l.incomplete.standing.Add(m, p.fan.Known()+freePositions)
	if err != nil {
		err = protocolError("%v", err)
	} else {
		err = p.checkStanding(m.List)
	}
	if err != nil {
		l.fail(err)
		return
	}
	p.hold(l, len(m.List)+listBytes)
}

// onSubscribe puts the parts of a set together, and the sets of a group.
func (p *Publisher) onSubscribe(l *link, m *subscription.Subscribe) {
	if l.fault != nil {
		return // it is closing
	}
	in := &l.incomplete
	if in.some && in.id != m.ID {
		l.fail(protocolError("parts of subscriptions %d and %d mixed", in.id, m.ID))
		return
	}
	in.id, in.some = m.ID, true
	if err := p.addPart(l, m.Set); err != nil {
		l.fail(err)
		return
	}
	if l.fault != nil || m.More {
		return
	}
	if err := p.endSet(l, m); err != nil {
		l.fail(err)
		return
	}
	if l.fault != nil || m.WithNext {
		return
	}
	group := in.wishes
	p.dropGroup(l)
	l.deadline.Met()
	l.asked = true
	if len(group) > 0 {
		l.subscribe(group)
	} else {
		p.settle(l)
		p.farewell(l)
	}
}

// addPart takes a part of a set, unless the set is to be refused. The head of a set
// shows whether it has too many ranges, its length whether it has too many masks.
//
// Errors: ErrProtocol, wrapped.
func (p *Publisher) addPart(l *link, part []byte) error {
	in := &l.incomplete
	p.hold(l, 0)
	if in.excess != nil || l.fault != nil {
		return nil
	}
	in.part = append(in.part, part...)
	if in.room == 0 {
		n, ok := tags.ClaimedRanges(in.part)
		switch {
		case ok && n > subscription.MaxParts:
			in.excess = tagset.TooMany(n)
		case ok:
			in.room = maxSetBytes(int(n))
		case len(in.part) >= tags.MaxHeadBytes:
			return protocolError("a set that does not begin as one")
		}
	}
	if in.room > 0 && len(in.part) > in.room {
		in.excess = fmt.Errorf("%w: more than %d masks: subscribe to ranges instead of masks", subscription.ErrTooManyTags, subscription.MaxMasks)
	}
	if in.excess != nil {
		in.part = nil // its cost so far stays counted until the group is complete
		return nil
	}
	p.hold(l, len(part))
	return nil
}

// endSet decodes a complete set, and adds the subscription to the group, or refuses it
// regardless of the others of the group.
//
// Errors: ErrProtocol, wrapped.
func (p *Publisher) endSet(l *link, m *subscription.Subscribe) error {
	in := &l.incomplete
	part, excess := in.part, in.excess
	in.some, in.part, in.room, in.excess = false, nil, 0, nil
	stands, err := in.standing.Take(m)
	if err != nil {
		return protocolError("%v", err)
	}
	m.Set = nil
	w := fanout.Wish{Request: m, Standing: stands, Err: excess}
	if w.Err == nil {
		err = w.Set.UnmarshalLimited(part, subscription.MaxParts, subscription.MaxMasks)
		switch {
		case errors.Is(err, tags.ErrTooManyParts):
			w.Err = fmt.Errorf("%w: %w: subscribe to ranges instead", subscription.ErrTooManyTags, err)
		case err != nil:
			return errors.Join(ErrProtocol, err)
		case w.Set.IsEmpty():
			return errors.Join(ErrProtocol, ErrEmptySet) // the limits count tags, so the number of empty sets is not bounded
		}
	}
	if w.Err != nil {
		l.refuseSubscription(&w)
		l.event(Event{Kind: Refused, Peer: l.peer, Err: w.Err})
		p.hold(l, 0)
		return nil
	}
	in.wishes = append(in.wishes, w)
	in.parts += w.Set.Parts()
	in.stands += stands.Count()
	p.hold(l, wishBytes+rangeBytes*w.Set.Parts()-len(part))
	return p.checkGroup(l)
}

// checkGroup bounds an incomplete group.
//
// Errors: ErrProtocol, wrapped.
func (p *Publisher) checkGroup(l *link) error {
	const maxParts = maxLanes * subscription.MaxParts
	if len(l.incomplete.wishes) > maxGroup || l.incomplete.parts > maxParts {
		return protocolError("group of more than %d subscriptions or %d ranges and masks", maxGroup, maxParts)
	}
	if most := maxLanes * (p.fan.Known() + freePositions); l.incomplete.stands > most {
		return protocolError("group with %d positions, of %d that there can be", l.incomplete.stands, most)
	}
	return nil
}

// refuseSubscription answers with the reason why a subscription does not become active.
func (l *link) refuseSubscription(w *fanout.Wish) {
	l.out.Send(nil, refusal(w.Request.ID, w.Err))
}
