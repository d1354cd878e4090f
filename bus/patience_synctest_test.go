// SPDX-License-Identifier: Apache-2.0

package bus_test

import (
	"testing"
	"testing/synctest"
	"time"

	"tagbus/bus"
)

// A subscriber whose own queue is full cannot hear the publisher, and the
// publisher hears it all the same.
func TestSubscriber_thatIsPausedIsNotCut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t)
		p, s, sub := b.pair(bus.PublisherConfig{}, bus.SubscriberConfig{Receiving: bus.Receiving{QueueBytes: 2000}}, nil)
		b.net.SetWindow(anybody, anyPort(s.host), 2048)
		fill(t, p, 1)
		published := p.Stats().Messages
		time.Sleep(17*time.Minute + 1234*time.Millisecond)
		go keepPublishing(t.Context(), p, time.Hour)
		next := uint64(1)
		for m, err := range sub.Messages(t.Context()) {
			must(t, err)
			if m.Counter != next {
				t.Fatalf("got message %d, want %d", m.Counter, next)
			}
			if next%5 == 0 {
				time.Sleep(time.Minute) // paused again and again
			}
			if next++; next > published+100 {
				break
			}
		}
		if len(p.of(bus.Lost))+len(s.of(bus.Lost))+len(s.of(bus.Gap)) > 0 {
			t.Errorf("events: publisher %v, subscriber %v", p.events, s.events)
		}
	})
}

// The clock of a subscriber that was paused starts at the resume: it finds out
// then, and not before, that the publisher is gone.
func TestSubscriber_thatWasPausedFindsASilentPublisher(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t)
		p, s, sub := b.pair(bus.PublisherConfig{}, bus.SubscriberConfig{Receiving: bus.Receiving{QueueBytes: 2000}}, nil)
		fill(t, p, 1)
		b.net.Partition(anyPort(p.host), anyPort(s.host))
		time.Sleep(10*time.Minute + 321*time.Millisecond)
		if len(s.of(bus.Lost)) > 0 {
			t.Fatalf("got %v, want patience while it does not read", s.events)
		}
		resumed := time.Now()
		go readAll(t.Context(), sub)
		time.Sleep(time.Minute)
		checkSilence(t, "subscriber", s.member, resumed, span{6 * time.Second, 6500 * time.Millisecond}, s.Stats().Silent)
		must(t, sub.Close())
	})
}

// A stopped subscriber that blocks makes a patient publisher wait, and nothing
// is lost.
func TestPublisher_thatIsPatientWaitsForAStoppedSubscriber(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t)
		c := newCollector()
		p, s, _ := b.pair(bus.PublisherConfig{Common: bus.Common{HeartbeatTimeout: time.Hour}}, bus.SubscriberConfig{}, c.handle)
		b.net.SetWindow(anybody, anyPort(s.host), 2048)
		s.loop.Freeze()
		fill(t, p, 1)
		accepted := p.Stats().Messages
		waited := make(chan time.Duration, 1)
		start := time.Now()
		go func() {
			if err := p.PublishContext(t.Context(), 1, make([]byte, 900)); err != nil {
				t.Error(err)
			}
			waited <- time.Since(start)
		}()
		time.Sleep(30 * time.Minute)
		if st := p.Stats(); st.Messages != accepted || st.PagesFree < st.Pages-8 {
			t.Errorf("while it is stopped: got %d messages, want %d; %d of %d pages free, want all but 8", st.Messages, accepted, st.PagesFree, st.Pages)
		}
		s.loop.Thaw()
		if d := <-waited; d < 30*time.Minute || d > 31*time.Minute {
			t.Errorf("waited %v, want half an hour", d)
		}
		must(t, p.Drain(t.Context()))
		synctest.Wait()
		if got := c.count(); got != int(accepted)+1 || len(c.bad)+len(s.of(bus.Gap))+len(p.of(bus.Lost))+len(s.of(bus.Lost)) > 1 {
			t.Errorf("got %d messages, want %d; publisher %v, subscriber %v", got, accepted+1, p.events, s.events)
		}
	})
}

// After a silence the subscriber comes back by itself and is told what it
// missed.
func TestSubscriber_comesBackAfterASilence(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t)
		c := newCollector()
		p, s, _ := b.pair(bus.PublisherConfig{}, bus.SubscriberConfig{}, func(m bus.Message) { c.data[m.Tag] = append(c.data[m.Tag], "") })
		b.net.Partition(anyPort(p.host), anyPort(s.host))
		go keepPublishing(t.Context(), p, 2*time.Minute)
		time.Sleep(time.Minute)
		b.net.Heal(anyPort(p.host), anyPort(s.host))
		time.Sleep(3 * time.Minute)
		must(t, p.Drain(t.Context()))
		synctest.Wait()
		if got := uint64(c.count()) + gaps(s.member)[1]; got != p.Stats().Messages || gaps(s.member)[1] == 0 {
			t.Errorf("got %d messages, delivered or in gaps (%d), want %d", got, gaps(s.member)[1], p.Stats().Messages)
		}
	})
}
