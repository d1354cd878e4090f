package bus

import (
	"fmt"
	"time"

	"tagbus/subscription"
)

// errAnswersUnread is the cause of the end of a silent publisher that does not read.
var errAnswersUnread = fmt.Errorf("%w: the publisher asks faster than it reads the answers", ErrProtocol)

// onTick is the subscriber's tick.
func (s *Subscriber) onTick(now time.Time, late time.Duration) {
	for _, src := range s.sources {
		if src.contact.state == contactReady {
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
		src.pulse.Hear() // nothing can be heard now
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
		src.tellReceived()
	}
	if src.pulse.Due(now, src.out.Sent(), !src.out.Waits()) {
		src.send(&subscription.Beat{})
		src.out.Sent() // Due has counted it
	}
}
