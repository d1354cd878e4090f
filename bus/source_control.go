package bus

import (
	"errors"

	"tagbus/internal/plain"
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
		src.spoken = true
		src.onPage(data)
	default:
		src.onControl(data)
	}
	if src.steps > 0 {
		src.spend()
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
		err = protocolError("it is a %s", plain.Text(h.Role))
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
	src.vanished, src.seek = false, seek{}
	src.sub.counters.publishers.Add(1)
	if src.met.IsZero() {
		src.met = src.since
	}
	src.pulse.begin(&src.sub.heart, beatMillis)
	src.sub.heart.enter()
	src.event(Event{Kind: Connected, Peer: src.peer})
	if src.pausing > 0 {
		src.ep.PauseReceive()
	}
	src.consider()
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
	r := src.requests[m.ID]
	if r == nil || !r.open {
		src.fail(protocolError("gave positions for subscription %d, which was not asked for", m.ID))
		return
	}
	for p, err := range subscription.PositionsOf(m.List) {
		if err != nil {
			src.fail(errors.Join(ErrProtocol, err))
			return
		}
		if !src.position(r.sub.lane, p, src.owed(r.sub.lane, p.Tag), subscription.CauseConnection) {
			return
		}
	}
	src.tellMissed(r.sub.lane, m.List)
}

// position sets where a tag stands. If the publisher owes us the tag's
// messages, the difference to what was received is lost. It returns false if
// the position cannot be.
func (src *source) position(lane uint16, p subscription.Position, owed bool, cause subscription.Cause) bool {
	rcv := src.receivedOf(lane, p.Tag)
	switch {
	case rcv == nil || !src.reaches(p.Tag, p.Count):
		return false
	case !owed:
		rcv.unwanted += p.Count - rcv.count // whether more or less: it begins here
		rcv.count = p.Count
	case p.Count < rcv.count:
		src.fail(protocolError("tag %v stands at %d after %d messages", p.Tag, p.Count, rcv.count))
		return false
	case p.Count > rcv.count:
		return src.lose(rcv, p.Tag, cause, p.Count-rcv.count)
	}
	return true
}

// owed tells whether the publisher has acknowledged a subscription of a lane to
// tag that has not ended.
func (src *source) owed(lane uint16, tag tags.Tag) bool {
	n := src.lane(lane)
	src.steps += 1 + len(n.wide)
	for r := range n.about(tag) {
		if r.owes(tag) {
			return true
		}
	}
	return false
}

// onRefused hears why the publisher does not want us, or a subscription.
func (src *source) onRefused(m *subscription.Refused) {
	err := errors.New(plain.Line(m.Reason))
	if m.ID == 0 {
		src.fail(err)
		return
	}
	src.reportRefusal(err)
	if r := src.requests[m.ID]; r != nil && r.subscribing {
		r.subscribing, r.denied = false, err // one that was active goes on as it was
		src.note(r)
		src.answered(r)
	}
}

// onGoodbye compares what was received with what was published, of tags that
// the publisher does not serve any more, or of all; then it leaves.
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
	src.sub.reportSkipped()
	if src.unsettled() {
		src.vanish() // with what was on its way when the last connection was lost
	} else {
		src.event(Event{Kind: Goodbye, Peer: src.peer})
	}
	src.ended = true
	src.sub.reconsider()
	src.leave()
}
