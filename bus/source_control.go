package bus

import (
	"errors"
	"time"

	"tagbus/subscription"
	"tagbus/tags"
)

// onData takes one transport message from the publisher.
func (src *source) onData(data []byte) {
	switch {
	case src.state == sourceGreeting:
		src.onHello(data)
	case src.state != sourceReady:
		// Closing, and the rest does not matter any more.
	case data[0] == byte(subscription.KindPage):
		src.onPage(data)
	default:
		src.onControl(data)
	}
}

func (src *source) onHello(data []byte) {
	h, err := subscription.DecodeHello(data)
	if err != nil {
		src.fail(errors.Join(ErrProtocol, err))
		return
	}
	if h.Instance != src.entry.Instance {
		src.ended = true // see stale
		src.fail(ErrStaleEntry)
		return
	}
	src.timer.Stop()
	src.state = sourceReady
	src.sub.counters.publishers.Add(1)
	src.since = time.Now()
	src.sub.event(Event{Kind: Connected, Peer: src.peer})
	if src.pausing > 0 {
		src.ep.PauseReceive()
	}
	src.subscribeAll()
}

// subscribeAll sends the subscriptions that this connection lacks.
func (src *source) subscribeAll() {
	for id, sub := range src.sub.subs {
		if src.requested[id] == nil && src.denied[id] == nil && sub.set.Intersects(src.entry.Tags) {
			src.requested[id] = sub
			src.subscribe(sub)
		}
	}
}

// subscribe sends one subscription, in as many parts as it takes.
func (src *source) subscribe(sub *Subscription) {
	const part = subscription.MaxControlBytes - 128
	set, err := sub.set.MarshalBinary()
	if err != nil {
		src.fail(err)
		return
	}
	for len(set) > part {
		src.send(&subscription.Subscribe{ID: sub.id, Set: set[:part], More: true})
		set = set[part:]
	}
	src.send(&subscription.Subscribe{ID: sub.id, Set: set})
}

// unsubscribe ends a subscription that was closed here. What still arrives for
// it counts as unwanted.
func (src *source) unsubscribe(sub *Subscription) {
	src.version++
	if src.state == sourceReady && src.requested[sub.id] != nil {
		src.send(&subscription.Unsubscribe{ID: sub.id})
		return
	}
	delete(src.acked, sub.id)
}

// forgetClosed drops the subscriptions whose end this connection did not live
// to see acknowledged.
func (src *source) forgetClosed() {
	for id, sub := range src.acked {
		if sub.closed.Load() {
			delete(src.acked, id)
			sub.maybeEnded()
		}
	}
	src.version++
}

func (src *source) onControl(data []byte) {
	m, err := subscription.Decode(data)
	if err != nil {
		src.fail(errors.Join(ErrProtocol, err))
		return
	}
	switch m := m.(type) {
	case *subscription.Positions:
		src.positions(m.List)
	case *subscription.Subscribed:
		src.onSubscribed(m.ID)
	case *subscription.Unsubscribed:
		src.onUnsubscribed(m.ID)
	case *subscription.Refused:
		src.onRefused(m)
	case *subscription.Goodbye:
		src.onGoodbye(m)
	default:
		src.fail(protocolError("a publisher does not send %v", m.Kind()))
	}
}

// positions takes over where the tags stand that have just become active on
// this connection. For a tag that was active on an earlier one, the difference
// to what was received is lost.
func (src *source) positions(list []byte) {
	for p, err := range subscription.PositionsOf(list) {
		if err != nil {
			src.fail(errors.Join(ErrProtocol, err))
			return
		}
		rcv := src.receivedOf(p.Tag)
		if src.owed(p.Tag) {
			src.missed(rcv, p, ErrConnectionLost)
		}
		rcv.count = p.Count
	}
}

// missed reports the messages between what was received and a position.
func (src *source) missed(rcv *received, p subscription.Position, cause error) {
	switch {
	case p.Count > rcv.count:
		n := p.Count - rcv.count
		src.sub.counters.lost.Add(n)
		src.sub.event(Event{Kind: Gap, Peer: src.peer, Tag: p.Tag, Count: n, Err: cause})
	case p.Count < rcv.count:
		src.fail(protocolError("tag %v stands at %d after %d messages", p.Tag, p.Count, rcv.count))
	}
}

// owed tells whether the publisher has acknowledged a subscription to tag that
// has not ended.
func (src *source) owed(tag tags.Tag) bool {
	for _, sub := range src.acked {
		if sub.set.Contains(tag) {
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
	src.known = true
	src.version++
	src.sub.event(Event{Kind: Subscribed, Peer: src.peer, Tags: sub.set})
	sub.maybeReady()
}

func (src *source) onUnsubscribed(id uint64) {
	sub := src.requested[id]
	if sub == nil || !sub.closed.Load() {
		src.fail(protocolError("ended subscription %d by itself", id))
		return
	}
	delete(src.requested, id)
	delete(src.acked, id)
	src.sub.event(Event{Kind: Unsubscribed, Peer: src.peer, Tags: sub.set})
	sub.maybeEnded()
	if len(src.requested) == 0 && !src.wanted() {
		src.ended = src.ended || !src.listed
		_ = src.ep.Close()
	}
}

// onRefused hears why the publisher does not want us, or a subscription.
func (src *source) onRefused(m *subscription.Refused) {
	err := errors.New(m.Reason)
	src.sub.event(Event{Kind: Refused, Peer: src.peer, Err: err})
	if m.ID == 0 {
		src.refusal = err
		return // the publisher closes
	}
	if sub := src.requested[m.ID]; sub != nil {
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
		rcv := src.receivedOf(p.Tag)
		src.missed(rcv, p, ErrPublisherEnded)
		rcv.count = p.Count
	}
	if len(m.List) > 0 {
		return // more to come
	}
	src.ended = true
	src.sub.event(Event{Kind: Goodbye, Peer: src.peer})
	_ = src.ep.Close()
}
