package bus

import (
	"maps"
	"slices"
	"time"
)

// Close ends the subscriber. It says goodbye on every connection, then closes all
// connections and subscriptions. Retained messages stay valid. The second call does
// nothing.
//
//   - Blocks: until the last callback has run, and at most 250 ms for publishers that
//     do not read; from inside a callback, of any node, it returns at once, and on its
//     own loop no handler is called after that callback.
func (s *Subscriber) Close() error { return s.closer.close(s.backend, s.close) }

func (s *Subscriber) close() error {
	s.closed.Store(true)
	s.directory.End()
	switch {
	case s.loop.OnLoop():
		if s.closer.later = s.closeSoon(); s.closer.later {
			return nil
		}
		return s.backend.Close()
	case s.loop.OnAnyLoop(): // this loop must not wait for the other one
		s.closer.later = true
		if s.loop.Post(func() {
			if !s.closeSoon() {
				_ = s.backend.Close()
				s.closer.end()
			}
		}) {
			return nil
		}
		s.closer.later = false
		s.shutdown() // the loop has ended
		return s.backend.Close()
	}
	if !s.loop.Post(func() {
		s.shutdown()
		s.farewell()
	}) {
		s.shutdown()
		return s.backend.Close()
	}
	patience := time.NewTimer(goodbyeTime)
	defer patience.Stop()
	select {
	case <-s.gone:
	case <-patience.C:
	}
	<-s.finished
	return s.backend.Close()
}

// closeSoon is close inside a callback. The loop sends at the end of a turn, so the
// backend is closed one turn later, after the last messages. closeSoon returns false if
// the loop has no further turn. Loop only.
func (s *Subscriber) closeSoon() bool {
	s.shutdown()
	s.farewell()
	last := func() {
		_ = s.backend.Close()
		s.closer.end()
	}
	return s.loop.Post(func() {
		if !s.loop.Post(last) {
			last()
		}
	})
}

// shutdown ends everything above the backend. Loop only.
func (s *Subscriber) shutdown() {
	for _, src := range s.sources {
		src.version++ // the handlers of the page being delivered
	}
	s.chores.Stop()
	_ = s.alarms.Close()
	left := slices.Collect(maps.Values(s.leaving))
	s.finishAll(slices.AppendSeq(left, s.subs.all))
}

// finishedPerTurn is how many subscriptions a turn of the loop finishes.
const finishedPerTurn = 2048

// finishAll finishes subscriptions, some in each turn of the loop while it runs. Loop
// only.
func (s *Subscriber) finishAll(left []*Subscription) {
	for n := 0; len(left) > 0; n++ {
		if n == finishedPerTurn && s.loop.Post(func() { s.finishAll(left) }) {
			return
		}
		left[len(left)-1].finish(ErrClosed)
		left = left[:len(left)-1]
	}
	close(s.finished)
}
