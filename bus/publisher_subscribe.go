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
	p.subscribe(l, group)
	p.farewell(l)
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

// subscribe makes the subscriptions of a group active and acknowledges them,
// all at one place: no page of any lane that the group concerns stands between
// two of the acknowledgements of that lane, and none of any lane between those
// of the first group of a connection. A subscription whose id is known gets
// another set.
func (p *Publisher) subscribe(l *link, group []wish) {
	p.mu.Lock()
	if id, duplicate := p.otherOwner(l, group); duplicate != nil {
		p.mu.Unlock()
		l.outlet.expel(id, duplicate)
		return
	}
	first := len(l.lanes) == 0
	changes := make(map[*lane][]change)
	var lanes []*lane
	for i := range group {
		if group[i].err = p.oneLane(l, &group[i]); group[i].err != nil {
			continue
		}
		c, err := p.enter(l, &group[i])
		if errors.Is(err, ErrProtocol) {
			p.mu.Unlock()
			l.fail(err)
			return
		}
		if n := group[i].lane; err == nil {
			p.handOver(l, group[i].set)
			if changes[n] == nil {
				lanes = append(lanes, n)
			}
			changes[n] = append(changes[n], c)
		}
		group[i].err = err
	}
	news, replays := make(map[*lane]joined), make(map[*lane]*replay)
	for _, n := range lanes {
		replays[n] = p.newReplay(n, group)
		news[n] = p.reroute(n, replays[n], changes[n]...)
	}
	for i := range group {
		w := &group[i]
		if w.err != nil {
			l.refuseSubscription(w)
			continue
		}
		queue := &w.lane.queue
		if first { // nothing else is on its way: before all pages, whatever their lane
			queue = &l.control
		}
		w.lane.subscribed(queue, w.request.ID, news[w.lane])
		delete(news, w.lane) // they are for all of the lane
	}
	for _, n := range lanes {
		n.uncork(replays[n].finish())
	}
	p.notifyChanged()
	p.mu.Unlock()
	for _, w := range group {
		kind := Subscribed
		if w.err != nil {
			kind = Refused
		}
		p.event(Event{Kind: kind, Peer: l.peer, Tags: w.set, Err: w.err})
	}
}

// enter puts a subscription into the table. mu is held.
//
// Errors: ErrProtocol, wrapped: the connection must end. Others are reasons to
// refuse the subscription.
func (p *Publisher) enter(l *link, w *wish) (change, error) {
	policy, err := p.policyOf(l, w.request)
	if err != nil {
		return change{}, err
	}
	if err := p.checkRoom(l, w.request); err != nil {
		return change{}, err
	}
	w.lane = p.lane(l, w.request, policy)
	before := p.table.Subscription(w.lane.id, w.request.ID)
	if err := p.table.Subscribe(w.lane.id, w.request.ID, w.set); err != nil {
		return change{}, err
	}
	l.subs[w.request.ID] = w.lane
	return change{before, w.set}, nil
}

// refuseSubscription answers why a subscription is not made active.
func (l *link) refuseSubscription(w *wish) {
	l.send(nil, &subscription.Refused{ID: w.request.ID, Reason: w.err.Error()})
}
