// SPDX-License-Identifier: Apache-2.0

package bus

import (
	"errors"

	"tagbus/bus/internal/dialer"
	"tagbus/bus/internal/intake"
	"tagbus/bus/internal/request"
	"tagbus/bus/internal/tagset"
	"tagbus/bus/internal/wire"
	"tagbus/internal/sanitize"
	"tagbus/subscription"
	"tagbus/tags"
)

// onData handles one transport message of the publisher.
func (src *source) onData(data []byte) {
	switch {
	case src.contact.Greeting():
		src.onHello(data)
		return
	case !src.contact.Ready():
		return // closing: the rest does not matter any more
	}
	if data[0] == wire.Kind {
		src.onPage(wire.Split(data))
		return
	}
	src.pulse.Hear()
	src.onControl(data)
	src.spent()
}

// onParts handles a page whose header is apart, and reports whether it is one.
func (src *source) onParts(head, data []byte) (taken bool) {
	if len(head) != wire.HeaderBytes || head[0] != wire.Kind || !src.contact.Ready() {
		return false
	}
	src.onPage(head, data)
	return true
}

// onPage handles a page: its header and the rest.
func (src *source) onPage(head, records []byte) {
	src.pulse.Hear()
	src.spoken = true
	src.in.onPage(head, records)
	src.spent()
}

// spent accounts for what a transport message has cost.
func (src *source) spent() {
	if src.in.Steps > 0 {
		src.spend()
	}
}

// onHello handles the publisher's first message: its hello, or the reason of a refusal.
func (src *source) onHello(data []byte) {
	h, err := answerOf(data, src.contact.Entry.Instance, "")
	if err != nil {
		src.sub.bar(src, errors.Is(err, ErrNotAllowed))
		src.fail(err)
		return
	}
	src.sub.bar(src, false)
	src.rights.Begin(h.Limited)
	src.in.Greeted(h.MaxMessageBytes == subscription.TakesDropped)
	heart := &src.sub.heart
	src.pulse.Begin(heart, src.contact.Ep, heart.Following(h.BeatMillis), h.BeatMillis)
	src.ready()
}

// ready begins to work with a publisher that has said hello.
func (src *source) ready() {
	src.contact.Welcome()
	src.vanished, src.dial.seek = false, dialer.Search{}
	src.sub.counters.connected(src.contact.Peer, 1)
	if src.met.IsZero() {
		src.met = src.contact.Since()
	}
	src.sub.heart.Enter()
	src.event(Event{Kind: Connected, Peer: src.contact.Peer})
	src.reading.Begin(src.contact.Ep, &src.pulse)
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
		if err := src.in.Lost(m); err != nil {
			src.breaks(err)
		}
	case *subscription.Rights:
		src.onRights(m)
	case *subscription.Beat: // receiving it is noted already
	default:
		src.fail(protocolError("a publisher does not send %v", m.Kind()))
	}
}

// positions takes the positions of tags that have just become active on this connection.
func (src *source) positions(m *subscription.Positions) {
	r, err := src.requests.Positioned(m.ID)
	if err != nil {
		src.fail(protocolError("%v", err))
		return
	}
	if err := src.in.Positions(r.Sub.lane, m.List); err != nil {
		src.breaks(err)
	}
}

// breaks ends the connection to a publisher whose message cannot be taken: a page that is
// damaged, or what the intake says.
func (src *source) breaks(err error) {
	var damage *wire.Error
	var violation intake.Violation
	switch {
	case errors.As(err, &damage):
		src.fail((*PageError)(damage))
	case errors.As(err, &violation):
		src.fail(protocolError("%s", violation))
	default:
		src.fail(errors.Join(ErrProtocol, err))
	}
}

// onSubscribed notes that a subscription is active.
func (src *source) onSubscribed(id uint64) {
	r, again, err := src.requests.Subscribed(id)
	if err != nil {
		src.fail(protocolError("%v", err))
		return
	}
	kind := Subscribed
	if again {
		kind = Resubscribed
	}
	src.in.Steps += request.Steps + r.Sent().Parts()
	src.prune(r.Sub.lane)
	src.in.Begin(r.Sub.lane)
	src.event(Event{Kind: kind, Peer: src.contact.Peer, Tags: src.of(r.Sent())})
	r.Sub.known = true
	src.sub.alarms.Cancel(&r.Sub.patience)
	if r.Sub.held {
		r.Sub.stall(src)
	}
	src.sub.duplicates.Check(&src.served, r.Sub)
	src.answered(r)
}

// of returns those tags of a set that the publisher has now, or the whole set if its patterns make it
// too complex to find out.
func (src *source) of(set tags.Set) tags.Set {
	some, steps := tagset.Named(set, src.contact.Entry.Tags)
	src.in.Steps += steps
	return some
}

// answered continues after the answer to a Subscribe. The subscription may have changed
// or closed meanwhile.
func (src *source) answered(r *subRequest) {
	if r.Sub.over() {
		src.unsubscribe(r.Sub)
		r.Sub.maybeEnded()
		return
	}
	src.considerOne(r.Sub)
	r.Sub.maybeReady()
}

// onUnsubscribed notes that a subscription has ended.
func (src *source) onUnsubscribed(id uint64) {
	r, had, err := src.requests.Unsubscribed(id)
	if err != nil {
		src.fail(protocolError("%v", err))
		return
	}
	src.in.Steps += request.Steps
	src.sub.gaps.Report() // what is lost is told before the end
	src.event(Event{Kind: Unsubscribed, Peer: src.contact.Peer, Tags: had})
	src.prune(r.Sub.lane)
	if r.Sub.over() {
		r.Sub.maybeEnded()
	} else {
		src.considerOne(r.Sub) // it may want something again
		r.Sub.maybeReady()
	}
	src.leaveIfUnneeded()
}

// onRefused handles the refusal of a subscription, or of the whole connection, or the
// reason for which a publisher ends.
func (src *source) onRefused(m *subscription.Refused) {
	err := refusedError{sanitize.Line(m.Reason)}
	if m.ID == subscription.EndingID {
		src.failure = &PeerFailedError{Reason: err.Error()}
		return // its goodbye follows
	}
	if m.ID == 0 {
		src.fail(err)
		return
	}
	src.contact.Refuse(err)
	if r := src.requests.Refused(m.ID, err); r != nil {
		src.answered(r)
	}
}

// onGoodbye compares the received with the published messages: of tags that the
// publisher does not serve any more, or of all. In the second case it then leaves.
func (src *source) onGoodbye(m *subscription.Goodbye) {
	if err := src.in.Goodbye(m); err != nil {
		src.breaks(err)
		return
	}
	if len(m.List) > 0 {
		return // more to come
	}
	src.sub.gaps.Report()
	if src.requests.Unsettled() {
		src.vanish() // with the messages on their way when the last connection was lost
	} else {
		src.event(Event{Kind: Goodbye, Peer: src.contact.Peer, Err: src.failure})
	}
	src.contact.Ended = true
	src.sub.duplicates.Reconsider(&src.served)
	src.out.Leave()
}

// One message of a publisher, or one call of the program, may cause work for a million
// tags or many thousand subscriptions. The subscriber's work queue does it in slices.
// Meanwhile the source reads nothing, so each message is handled after the work of the
// one before.

// spend counts the work caused by a message of the publisher. When the budget of a slice
// is used up, all sources stop reading until the next slice.
func (src *source) spend() {
	steps := src.in.Steps
	src.in.Steps = 0
	if src.share.Spend(steps) {
		return
	}
	for _, o := range src.sub.sources {
		if o.contact.Ready() {
			o.share.Rest()
		}
	}
}

// prune forgets the tags of a lane that no request wants any more, if there may be many.
func (src *source) prune(lane uint16) {
	if job := src.in.Prune(lane); job != nil {
		src.sub.work.Add(job)
	}
}
