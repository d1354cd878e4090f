// SPDX-License-Identifier: Apache-2.0

package bus

import (
	"errors"
	"fmt"
	"time"

	"tagbus/netio"
	"tagbus/subscription"
)

// errAnswersUnread is the cause of the end of a silent publisher that does not read.
var errAnswersUnread = fmt.Errorf("%w: the publisher asks faster than it reads the answers", ErrProtocol)

// pump sends what waits in out.
func (src *source) pump() {
	if src.contact.ep != nil {
		src.pumped(src.out.Pump(src.contact.ep))
	}
}

// pumped ends the connection for an error of its endpoint that nothing else follows.
func (src *source) pumped(err error) {
	if err != nil && !errors.Is(err, netio.ErrNoResources) && !errors.Is(err, netio.ErrClosed) {
		src.fail(err)
	}
}

// completed notes that the endpoint has sent a message.
func (src *source) completed() {
	src.out.Completed()
	src.leaveIfSent()
}

func (src *source) send(m subscription.Message) {
	src.queue(m)
	src.pump()
}

// queue queues a control message for pump.
func (src *source) queue(m subscription.Message) {
	if src.parted {
		return // nothing comes after a goodbye
	}
	b, err := subscription.Append(nil, m)
	if err != nil {
		src.fail(err)
		return
	}
	src.out.Push(b)
}

// leave ends the connection in order, behind the messages still to be sent.
func (src *source) leave() {
	src.leaving = true
	src.leaveIfSent()
}

// leaveIfSent says goodbye once all else is sent, and then closes.
func (src *source) leaveIfSent() {
	switch {
	case !src.leaving || src.contact.ep == nil || !src.out.Idle():
	case src.parted:
		_ = src.contact.ep.Close()
	default:
		src.part()
	}
}

// part says goodbye. Nothing comes after it.
func (src *source) part() {
	src.in.CountPage() // a handler may have closed the subscriber
	src.leaving = true // so that TellDropped does not put off what has no later
	src.in.TellReceived()
	if src.contact.Ready() {
		src.in.TellDropped()
	}
	src.queue(&subscription.Goodbye{})
	src.parted = true
	src.pump()
}

// goodbyeTime is how long Close waits for the transport to take the last messages of a
// subscriber.
const goodbyeTime = 250 * time.Millisecond

// farewell says goodbye to all publishers. gone is closed when that is done.
// Loop only.
func (s *Subscriber) farewell() {
	s.parting = true
	for _, src := range s.sources {
		if src.contact.ep != nil && src.fault == nil && !src.parted {
			src.part()
		}
	}
	s.departed()
}

// departed notes that a connection has ended. Loop only.
func (s *Subscriber) departed() {
	if !s.parting {
		return
	}
	for _, src := range s.sources {
		if src.contact.ep != nil && src.fault == nil {
			return
		}
	}
	s.parting = false
	close(s.gone)
}

// onTick is the subscriber's tick.
func (s *Subscriber) onTick(now time.Time, late time.Duration) {
	for _, src := range s.sources {
		if src.contact.Ready() {
			src.tick(now, late)
		}
	}
}

// tick checks a connection once per tick.
func (src *source) tick(now time.Time, late time.Duration) {
	if src.contact.ep == nil || src.fault != nil {
		return
	}
	if src.out.Moves() && src.pausing > 0 {
		src.pulse.Excuse() // nothing can be heard now
	}
	if silent, allowed := src.pulse.Silent(now, late); allowed > 0 {
		err := &SilentError{For: silent, Limit: allowed}
		if src.out.Unread() {
			src.fail(fmt.Errorf("%w: %w", errAnswersUnread, err))
			return
		}
		src.sub.counters.silent.Add(1)
		src.fault = err // the Lost event says why
		_ = src.contact.ep.Close()
		return
	}
	if src.sub.heart.Due(now, src.toldAt) {
		src.toldAt = now
		src.in.TellReceived()
	}
	if src.pulse.Due(now, src.out.Sent(), src.out.Idle()) && !src.parted {
		src.pumped(src.out.Beat(src.contact.ep, src.sub.beat))
	}
}
