// SPDX-License-Identifier: Apache-2.0

package bus

import (
	"fmt"
	"time"
)

// errAnswersUnread is the cause of the end of a silent publisher that does not read.
var errAnswersUnread = fmt.Errorf("%w: the publisher asks faster than it reads the answers", ErrProtocol)

// sayLast sends what has no later, before the goodbye.
func (src *source) sayLast() {
	src.in.CountPage() // a handler may have closed the subscriber
	src.in.TellReceived()
	if src.contact.Ready() {
		src.in.TellDropped()
	}
}

// goodbyeTime is how long Close waits for the transport to take the last messages of a
// subscriber.
const goodbyeTime = 250 * time.Millisecond

// farewell says goodbye to all publishers. gone is closed when that is done.
// Loop only.
func (s *subscriberImpl) farewell() {
	s.parting = true
	for _, src := range s.sources {
		if src.contact.Ep != nil && src.fault == nil && !src.out.Parted() {
			src.out.Part()
		}
	}
	s.departed()
}

// departed notes that a connection has ended. Loop only.
func (s *subscriberImpl) departed() {
	if !s.parting {
		return
	}
	for _, src := range s.sources {
		if src.contact.Ep != nil && src.fault == nil {
			return
		}
	}
	s.parting = false
	close(s.gone)
}

// onTick is the subscriber's tick.
func (s *subscriberImpl) onTick(now time.Time, late time.Duration) {
	for _, src := range s.sources {
		if src.contact.Ready() {
			src.tick(now, late)
		}
	}
}

// tick checks a connection once per tick.
func (src *source) tick(now time.Time, late time.Duration) {
	if src.contact.Ep == nil || src.fault != nil {
		return
	}
	if src.out.Queue().Moves() && src.reading.Paused() {
		src.pulse.Excuse() // nothing can be heard now
	}
	if silent, allowed := src.pulse.Silent(now, late); allowed > 0 {
		err := &SilentError{For: silent, Limit: allowed}
		if src.out.Queue().Unread() {
			src.fail(fmt.Errorf("%w: %w", errAnswersUnread, err))
			return
		}
		src.sub.silent.Add(1)
		src.fault = err // the Lost event says why
		_ = src.contact.Ep.Close()
		return
	}
	if src.sub.heart.Due(now, src.toldAt) {
		src.toldAt = now
		src.in.TellReceived()
	}
	if q := src.out.Queue(); src.pulse.Due(now, q.Sent(), q.Idle()) {
		src.out.Beat(src.sub.beat)
	}
}

// reportInterval is the time between events about messages that the policies Latest and
// Sample leave out, or that the queues of subscriptions lose.
const reportInterval = time.Second

// A publisher knows what did not reach a subscriber. What has reached it and was lost there,
// in the queue of a subscription or by a handler that panicked, only the subscriber knows.
// It tells the publisher, which all tools ask.

// reportSoon has report called after a while, unless it is about to be called. Loop only.
func (s *subscriberImpl) reportSoon() {
	if !s.reporting {
		s.reporting = true
		s.alarms.Set(&s.reports, reportInterval)
	}
}

// report tells of what is not told at once: the user by events, and the publishers. Loop only.
func (s *subscriberImpl) report() {
	s.reporting = false
	s.gaps.Report()
	for _, src := range s.sources {
		if src.contact.Ep != nil && src.contact.Ready() {
			src.in.TellDropped()
		}
	}
}
