// SPDX-License-Identifier: Apache-2.0

package bus

import (
	"time"

	"tagbus/bus/internal/events"
	"tagbus/subscription"
	"tagbus/tags"
)

// Aim implements intake.Side.
func (d *dispatcher) Aim(lane uint16, tag tags.Tag) (targets []target) {
	if d.src.sub.closed.Load() {
		return nil
	}
	for r := range d.src.requests.About(lane, tag) {
		if r.Owes(tag) && !r.Sub.closed.Load() {
			targets = append(targets, target{r.Sub, r.Sub.handlerOf(tag)})
		}
	}
	return targets
}

// Count implements intake.Side: there may be very many from all publishers.
func (d *dispatcher) Count(cause subscription.Cause, n uint64, from, to uint32) {
	const most = 1 << 60
	all := &d.src.sub.counters.lost[cause]
	all.Add(min(n, most-min(all.Load(), most)))
	d.src.sub.lostAt.Span(cause, from, to)
}

// gap is what is lost of one tag, and not told.
type gap = events.Gap[Event, lostTag]

// Gap implements intake.Side.
func (d *dispatcher) Gap(to *gap, tag tags.Tag, cause subscription.Cause, n uint64) {
	if d.src.sub.gaps.Add(to, lostTag{d.src, tag}, cause, n) {
		d.src.sub.reportSoon()
	}
}

// Send implements intake.Side.
func (d *dispatcher) Send(m subscription.Message) { d.src.out.Send(m) }

// Waits implements intake.Side.
func (d *dispatcher) Waits() bool { return d.src.out.Waits() }

// Report implements intake.Side.
func (d *dispatcher) Report() { d.src.sub.reportSoon() }

// reportInterval is the time between events about messages that the policies Latest and
// Sample leave out, or that the queues of subscriptions lose.
const reportInterval = time.Second

// lostTag is what the Gap events of a tag say besides cause and number.
type lostTag struct {
	src *source
	tag tags.Tag
}

// Gap implements events.Key.
func (t lostTag) Gap(cause subscription.Cause, n uint64) Event {
	return Event{Kind: Gap, Peer: t.src.contact.peer, Tag: t.tag, Count: n, Err: gapCauses[cause]}
}

// A publisher knows what did not reach a subscriber. What has reached it and was lost there,
// in the queue of a subscription or by a handler that panicked, only the subscriber knows.
// It tells the publisher, which all tools ask.

// reportSoon has report called after a while, unless it is about to be called. Loop only.
func (s *Subscriber) reportSoon() {
	if !s.reporting {
		s.reporting = true
		s.alarms.Set(&s.reports, reportInterval)
	}
}

// report tells of what is not told at once: the user by events, and the publishers. Loop only.
func (s *Subscriber) report() {
	s.reporting = false
	s.gaps.Report()
	for _, src := range s.sources {
		if src.contact.ep != nil && src.contact.Ready() {
			src.in.TellDropped()
		}
	}
}
