// SPDX-License-Identifier: Apache-2.0

package bus_test

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"tagbus/bus"
	"tagbus/subscription"
	"tagbus/tags"
)

// TestSubscriber_aPublisherThatAsksWithoutReading: the answers to Positions waited without limit
// for a publisher that did not read them.
func TestSubscriber_aPublisherThatAsksWithoutReading(t *testing.T) {
	const known, asked = 1000, 1000
	tests := []struct {
		name  string
		beats int
		then  string // "", "is named", "reads"
	}{
		{"it may be silent and stays", 0, ""},
		{"it has promised beats and is named", 1000, "is named"},
		{"it reads after all and gets every answer", 0, "reads"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBed(t)
				x := &flood{stranger: stranger{answer: xHello(t, "", test.beats)}}
				x.answer = append(x.answer, control(t, &subscription.Lost{Cause: subscription.CauseFull, List: positionsOf(known, 3)}))
				x.next = repeat(asked, control(t, &subscription.Positions{ID: 1, List: positionsOf(known, 3)}))
				host := b.publisherByHand(x, tagRange(t, 1, known))
				s := b.subscriber(bus.SubscriberConfig{})
				b.net.SetWindow(anyPort(s.host), anyPort(host), 10_000)
				_, err := s.Subscribe(tagRange(t, 1, known), ignore)
				must(t, err)
				b.net.Stall(anyPort(s.host), anyPort(host))
				time.Sleep(3 * time.Second)
				synctest.Wait()
				// Each answer has more than 2 bytes per tag, and 256 KiB may wait.
				if n := b.net.Traffic(anyPort(host), anyPort(s.host)).Messages; n > 300 {
					t.Errorf("read %d of %d messages that ask for answers that were not taken, want at most 300", n, asked)
				}
				if test.then == "reads" {
					b.net.Resume(anyPort(s.host), anyPort(host))
					b.net.SetWindow(anyPort(s.host), anyPort(host), 1<<20)
				}
				time.Sleep(20 * time.Second)
				synctest.Wait()
				problems, answers := s.of(bus.Problem), uint64(0)
				for _, data := range x.got {
					if data[0] == byte(subscription.KindMissed) {
						answers++
					}
				}
				named := len(problems) > 0 && errors.Is(problems[0].Err, bus.ErrProtocol) && strings.Contains(problems[0].String(), "asks faster than it reads")
				if named != (test.then == "is named") || test.then == "reads" && answers != asked {
					t.Errorf("got problems %v and %d answers of %d, want that it %s", problems, answers, asked, test.then)
				}
			})
		})
	}
}

// TestSubscriber_thatIsHeldUpHearsItsOtherPublishers: one that does not read its answers
// holds up itself only.
func TestSubscriber_thatIsHeldUpHearsItsOtherPublishers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t)
		x := &flood{stranger: stranger{answer: xHello(t, "", 0)}}
		x.answer = append(x.answer, control(t, &subscription.Lost{Cause: subscription.CauseFull, List: positionsOf(1000, 3)}))
		x.next = repeat(1000, control(t, &subscription.Positions{ID: 1, List: positionsOf(1000, 3)}))
		host := b.publisherByHand(x, tagRange(t, 1, 1000))
		p := b.publisher(bus.PublisherConfig{Tags: tags.Of(5000)})
		c := newCollector()
		s := b.subscriber(bus.SubscriberConfig{})
		b.net.SetWindow(anyPort(s.host), anyPort(host), 10_000)
		_, err := s.Subscribe(tagRange(t, 1, 5000), c.handle)
		must(t, err)
		b.net.Stall(anyPort(s.host), anyPort(host))
		time.Sleep(time.Second)
		for range 100 {
			must(t, p.Publish(5000, []byte("x")))
		}
		time.Sleep(time.Second)
		synctest.Wait()
		if n := c.count(); n != 100 {
			t.Errorf("got %d messages of the other publisher, want 100", n)
		}
	})
}
