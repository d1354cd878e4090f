package bus

import (
	"fmt"
	"time"

	"tagbus/subscription"
)

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
	if src.excused() {
		src.pulse.Hear() // nothing can be heard now
	}
	if silent, allowed := src.pulse.Silent(now, late); allowed > 0 {
		err := &SilentError{For: silent, Limit: allowed}
		if src.unread {
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
	sent := src.sent
	src.sent = false
	if src.pulse.Due(now, sent, src.out.Len() == 0) {
		src.send(&subscription.Beat{})
		src.sent = false
	}
}
