package bus

import (
	"errors"
	"maps"

	"tagbus/subscription"
	"tagbus/tags"
)

// onData takes one transport message from the publisher.
func (src *source) onData(data []byte) {
	switch {
	case src.state == contactGreeting:
		src.onHello(data)
		return
	case src.state != contactReady:
		return // closing, and the rest does not matter any more
	}
	src.pulse.heard = true
	switch {
	case data[0] == byte(subscription.KindPage):
		src.onPage(data)
	default:
		src.onControl(data)
	}
}

// onHello takes the publisher's first message: its hello, or why it does not
// want us.
func (src *source) onHello(data []byte) {
	h, err := answerOf(data)
	switch {
	case err != nil:
	case h.Instance != src.entry.Instance:
		// This address is, now, somebody else's. The publisher may be at its
		// next one, or come back.
		err = ErrStaleEntry
	case h.Role != "":
		err = protocolError("it is a %s", plain(h.Role))
	}
	if err != nil {
		src.fail(err)
		return
	}
	src.ready(h.BeatMillis)
}

// ready begins to work with a publisher that has said hello.
//
//   - beatMillis: of its hello.
func (src *source) ready(beatMillis int) {
	src.greeted()
	src.vanished = false
	src.sub.counters.publishers.Add(1)
	if src.met.IsZero() {
		src.met = src.since
	}
	src.pulse.begin(&src.sub.heart, beatMillis)
	if err := src.sub.heart.enter(); err != nil {
		src.fail(err)
	}
	src.sub.event(Event{Kind: Connected, Peer: src.peer})
	if src.pausing > 0 {
		src.ep.PauseReceive()
	}
	src.consider()
	src.leaveIfUnneeded()
}

// leaveIfUnneeded closes a connection that nobody wants any more.
func (src *source) leaveIfUnneeded() {
	if src.state == contactReady && len(src.requested) == 0 && !src.wanted() {
		src.ended = src.ended || !src.listed
		src.leave()
	}
}

// subscribe sends one subscription, in as many parts as it takes.
func (src *source) subscribe(sub *Subscription) {
	src.leaving = src.leaving && src.ended
	const part = subscription.MaxControlBytes - 128
	set, err := sub.set.MarshalBinary()
	if err != nil {
		src.fail(err)
		return
	}
	resume := src.acked[sub.id] != nil
	if resume {
		for list := range positionLists(src.stands(sub)) {
			src.send(&subscription.Positions{ID: sub.id, List: list})
		}
	}
	for more := true; more; {
		n := min(len(set), part)
		more = n < len(set)
		m := sub.request(set[:n], more)
		m.Resume = resume
		src.send(m)
		set = set[n:]
	}
}

// unsubscribe ends a subscription that was closed here. What still arrives for
// it counts as unwanted.
func (src *source) unsubscribe(sub *Subscription) {
	src.version++
	if src.state == contactReady && src.requested[sub.id] != nil {
		src.send(&subscription.Unsubscribe{ID: sub.id})
		return
	}
	delete(src.acked, sub.id)
	delete(src.denied, sub.id)
	src.leaveIfUnneeded()
	src.unlisted()
}

// disconnect forgets what belonged to the connection, and the subscriptions
// whose end it did not live to see acknowledged.
func (src *source) disconnect() {
	src.version++
	requested := maps.Clone(src.requested)
	clear(src.requested)
	clear(src.denied)
	clear(src.told)
	for id, sub := range src.acked {
		if sub.over() {
			delete(src.acked, id)
			sub.maybeEnded()
		}
	}
	for _, sub := range requested {
		if sub.over() {
			sub.maybeEnded()
		}
	}
}

func (src *source) onControl(data []byte) {
	m, err := subscription.Decode(data)
	if err != nil {
		src.fail(errors.Join(ErrProtocol, err))
		return
	}
	switch m := m.(type) {
	case *subscription.Positions:
		src.positions(m)
	case *subscription.Subscribed:
		src.onSubscribed(m.ID)
	case *subscription.Unsubscribed:
		src.onUnsubscribed(m.ID)
	case *subscription.Refused:
		src.onRefused(m)
	case *subscription.Goodbye:
		src.onGoodbye(m)
	case *subscription.Lost:
		src.onLost(m)
	case *subscription.Beat: // that something came is noted already
	default:
		src.fail(protocolError("a publisher does not send %v", m.Kind()))
	}
}

// positions takes over where the tags stand that have just become active on
// this connection. For a tag that was active on an earlier one, the difference
// to what was received is lost.
func (src *source) positions(m *subscription.Positions) {
	sub := src.requested[m.ID]
	if sub == nil {
		src.fail(protocolError("gave positions for subscription %d, which was not asked for", m.ID))
		return
	}
	for p, err := range subscription.PositionsOf(m.List) {
		if err != nil {
			src.fail(errors.Join(ErrProtocol, err))
			return
		}
		if !src.position(sub.lane, p, src.owed(sub.lane, p.Tag), subscription.CauseConnection) {
			return
		}
	}
	src.tellMissed(sub.lane, m.List)
}

// position sets where a tag stands. If the publisher owes us the tag's
// messages, the difference to what was received is lost. It returns false if
// the position cannot be.
func (src *source) position(lane uint16, p subscription.Position, owed bool, cause subscription.Cause) bool {
	rcv := src.receivedOf(lane, p.Tag)
	switch {
	case rcv == nil:
		return false
	case !owed:
		rcv.unwanted += p.Count - rcv.count // whether more or less: it begins here
		rcv.count = p.Count
	case p.Count < rcv.count:
		src.fail(protocolError("tag %v stands at %d after %d messages", p.Tag, p.Count, rcv.count))
		return false
	case p.Count > rcv.count:
		src.lose(rcv, p.Tag, cause, p.Count-rcv.count)
	}
	return true
}

// owed tells whether the publisher has acknowledged a subscription of a lane to
// tag that has not ended.
func (src *source) owed(lane uint16, tag tags.Tag) bool {
	for _, sub := range src.acked {
		if sub.lane == lane && sub.set.Contains(tag) {
			return true
		}
	}
	return false
}

func (src *source) onSubscribed(id uint64) {
	sub := src.requested[id]
	if sub == nil {
		src.fail(protocolError("acknowledged subscription %d, which was not asked for", id))
		return
	}
	src.acked[id] = sub
	src.version++
	src.sub.event(Event{Kind: Subscribed, Peer: src.peer, Tags: sub.set})
	sub.maybeReady()
}

func (src *source) onUnsubscribed(id uint64) {
	sub := src.requested[id]
	if sub == nil || !sub.over() {
		src.fail(protocolError("ended subscription %d by itself", id))
		return
	}
	delete(src.requested, id)
	delete(src.acked, id)
	src.sub.event(Event{Kind: Unsubscribed, Peer: src.peer, Tags: sub.set})
	sub.maybeEnded()
	src.leaveIfUnneeded()
}

// onRefused hears why the publisher does not want us, or a subscription.
func (src *source) onRefused(m *subscription.Refused) {
	err := errors.New(plain(m.Reason))
	if m.ID == 0 {
		src.fail(err)
		return
	}
	src.reportRefusal(err)
	// If it was closed here meanwhile, Unsubscribed follows.
	if sub := src.requested[m.ID]; sub != nil && !sub.over() {
		delete(src.requested, m.ID)
		src.denied[m.ID] = err
		sub.maybeReady()
	}
}

// onGoodbye compares what was received with what was published, and leaves.
func (src *source) onGoodbye(m *subscription.Goodbye) {
	for p, err := range subscription.PositionsOf(m.List) {
		if err != nil {
			src.fail(errors.Join(ErrProtocol, err))
			return
		}
		if !src.position(m.Lane, p, true, causeEnded) {
			return
		}
	}
	if len(m.List) > 0 {
		return // more to come
	}
	src.ended = true
	src.sub.reportSkipped()
	src.sub.event(Event{Kind: Goodbye, Peer: src.peer})
	src.leave()
}
