// SPDX-License-Identifier: Apache-2.0

package bus_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"tagbus/bus"
	"tagbus/internal/testkit"
	"tagbus/netio"
	"tagbus/subscription"
	"tagbus/tags"
)

// Users whose subscriber was idle waited for ever, because a refused try for
// another tag had held its room for a moment.
func TestPublisher_Publish_aRefusedTryTakesNoRoomFromOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t)
		p := b.publisher(bus.PublisherConfig{Tags: tags.Of(1, 2), Sending: bus.Sending{PageBytes: 1024, QueueBytes: 1024, MaxMessageBytes: 900}})
		idle, slow := b.subscriber(bus.SubscriberConfig{}), b.subscriber(bus.SubscriberConfig{})
		subscribe(t, idle, tags.Of(1, 2), func(bus.Message) {})
		subscribe(t, slow, tags.Of(1), func(bus.Message) {})
		b.stall(slow.host)
		fill(t, p, 1)
		done := make(chan struct{})
		go func() { // time goes on only when it has ended
			defer close(done)
			for range testkit.Fewer(1_000_000) {
				if err := p.Publish(1, make([]byte, 900)); !errors.Is(err, bus.ErrNoResources) {
					t.Errorf("publish to a full subscriber: got %v, want ErrNoResources", err)
					return
				}
			}
		}()
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		for n, trying := 0, true; trying; n++ {
			if err := p.PublishContext(ctx, 2, make([]byte, 900)); err != nil {
				t.Fatalf("message %d to a subscriber that is idle: got %v", n, err)
			}
			select {
			case <-done:
				trying = false
			default:
			}
		}
	})
}

// Users saw a core busy for as long as a subscriber was full: a refused try
// gave back what it had taken, and so woke itself.
func TestPublisher_Publish_aRefusedTryWakesNoPublisher(t *testing.T) {
	tests := []struct {
		name string
		cfg  bus.PublisherConfig
		tag  tags.Tag // to be published without success
	}{
		{"the pool has half of what the message needs", bus.PublisherConfig{Sending: bus.Sending{PoolBytes: 5 * 1024}}, 2},
		{"one of two subscribers is full", bus.PublisherConfig{}, 1},
		{"one of two subscribers with streams of their own is full", bus.PublisherConfig{MaxStreams: 1}, 1},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBed(t)
				ready := 0
				var p *publisher
				test.cfg.Tags, test.cfg.PageBytes, test.cfg.QueueBytes, test.cfg.MaxMessageBytes = tags.Of(1, 2, 3), 1024, 4096, 2000
				test.cfg.OnReady = func() {
					if ready++; ready < 1000 {
						_ = p.Publish(test.tag, make([]byte, 2000))
					}
				}
				p = b.publisher(test.cfg)
				quick, slow := b.subscriber(bus.SubscriberConfig{}), b.subscriber(bus.SubscriberConfig{})
				third := b.subscriber(bus.SubscriberConfig{})
				if test.tag == 1 {
					must(t, p.Publish(1, nil))
					must(t, p.Publish(3, nil))
					subscribe(t, third, tags.Of(3), func(bus.Message) {})
					subscribe(t, quick, tags.Of(1, 3), func(bus.Message) {}) // uses the only shared stream for 3
				} else {
					subscribe(t, quick, tags.Of(2), func(bus.Message) {})
				}
				subscribe(t, slow, tags.Of(1), func(bus.Message) {})
				b.stall(slow.host)
				fill(t, p, 1)
				synctest.Wait()

				ready = 0
				if err := p.Publish(test.tag, make([]byte, 2000)); !errors.Is(err, bus.ErrNoResources) {
					t.Fatalf("publish: got %v, want ErrNoResources", err)
				}
				synctest.Wait()
				if ready > 0 {
					t.Errorf("OnReady was called %d times though nothing was freed", ready)
				}
				ready = 1000 // no more tries there
				ctx, cancel := context.WithTimeout(t.Context(), time.Second)
				defer cancel()
				patient := newPatience(ctx)
				defer patient.cancel()
				err := p.PublishContext(patient, test.tag, make([]byte, 2000))
				if !errors.Is(err, context.DeadlineExceeded) || patient.waits > 2 {
					t.Errorf("waiting for room: got %v after %d tries, want DeadlineExceeded after one or two", err, patient.waits)
				}
			})
		})
	}
}

// Users waited for a message until the next one was published, hours later. A refused
// message had opened its page, and the timer was not set.
func TestPublisher_Publish_aMessageAfterARefusedOneIsSentInTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t)
		p := b.publisher(bus.PublisherConfig{Tags: tags.Of(1, 2), Sending: bus.Sending{PageBytes: 1024, QueueBytes: 2048, MaxMessageBytes: 900}, MaxStreams: 1})
		must(t, p.Publish(1, nil))
		must(t, p.Publish(2, nil))
		quick, slow := b.subscriber(bus.SubscriberConfig{}), b.subscriber(bus.SubscriberConfig{})
		c := newCollector()
		subscribe(t, quick, tags.Of(1, 2), c.handle)
		subscribe(t, slow, tags.Of(1), func(bus.Message) {})
		b.stall(slow.host)
		for p.Publish(1, make([]byte, 900)) == nil {
			time.Sleep(10 * time.Millisecond)
		}
		time.Sleep(time.Second)
		before := c.count()
		must(t, p.Publish(2, []byte("alone")))
		time.Sleep(2 * time.Millisecond)
		synctest.Wait()
		if got := c.count() - before; got != 1 {
			t.Errorf("two flush intervals after publishing: got %d messages, want 1", got)
		}
	})
}

// Users with fewer streams than MaxStreams lost the sharing of pages for good:
// streams that a change was about to leave counted too.
func TestPublisher_maxStreamsCountsStreamsInUse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t)
		const sets = 40
		all, err := tags.Range(1, sets)
		must(t, err)
		p := b.publisher(bus.PublisherConfig{Tags: all, MaxStreams: sets})
		for tag := range all.All() {
			must(t, p.Publish(tag, nil))
		}
		subscribe(t, b.subscriber(bus.SubscriberConfig{}), all, func(bus.Message) {})
		for tag := range all.All() {
			subscribe(t, b.subscriber(bus.SubscriberConfig{}), tags.Of(tag), func(bus.Message) {})
		}
		subscribe(t, b.subscriber(bus.SubscriberConfig{}), all, func(bus.Message) {}) // moves every tag
		if got := p.Stats().Streams; got != sets {
			t.Errorf("streams: got %d, want %d", got, sets)
		}
	})
}

// greedy is a stranger that goes on to ask.
type greedy struct {
	stranger
	later [][]byte // sent one after the other
}

func (s *greedy) OnSendCompleted(c netio.Completion) {
	if len(s.later) > 0 {
		_ = c.Endpoint.SendCopy(0, nil, s.later[0])
		s.later = s.later[1:]
	}
}

// Operators saw connections go without a word when a subscriber asked for more
// answers than it read.
func TestPublisher_namesASubscriberThatAsksWithoutReading(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t)
		p := b.publisher(bus.PublisherConfig{Tags: tags.Everything()})
		const known = 4000
		for i := range known {
			must(t, p.Publish(tags.Tag(i)<<52, nil))
		}
		set, err := tags.Everything().MarshalBinary()
		must(t, err)
		// Made by hand: a Subscriber waits for the answer before it unsubscribes.
		s := &greedy{stranger: stranger{answer: [][]byte{hello(t, subscription.Hello{Instance: "greedy", MaxMessageBytes: 1 << 30})}}}
		for range 200 { // answers of some 36 KB each
			s.later = append(s.later, control(t, &subscription.Subscribe{ID: 1, Set: set}), control(t, &subscription.Unsubscribe{ID: 1}))
		}
		backend, host := b.stranger(s)
		b.stall(host)
		must(t, backend.OpenEndpoint(p.Addr(), netio.Params{}))
		synctest.Wait()
		problems, lost := p.of(bus.Problem), p.of(bus.Lost)
		if len(problems) != 1 || !errors.Is(problems[0].Err, bus.ErrProtocol) || !strings.Contains(problems[0].String(), "asks faster than it reads") {
			t.Errorf("problems: got %v, want a subscriber that asks faster than it reads", problems)
		}
		if len(lost) != 1 || !errors.Is(lost[0].Err, bus.ErrProtocol) {
			t.Errorf("lost: got %v, want one with the reason", lost)
		}
	})
}

// The model of senders found it: while a message larger than a page was being
// sent, the small ones that latest kept behind it were written over it.
func TestPublisher_latestKeepsALargeMessageApart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t)
		p := b.publisher(bus.PublisherConfig{Tags: tags.Of(1, 2, 3), Sending: bus.Sending{PageBytes: 256, MaxMessageBytes: 600}})
		c := newCollector()
		s := b.subscriber(bus.SubscriberConfig{})
		sub, err := s.SubscribeWith(tags.Of(1, 2, 3), c.handle, bus.SubscriptionConfig{Policy: bus.Policy{Kind: bus.Latest}})
		must(t, err)
		must(t, sub.Wait(t.Context()))
		must(t, p.Publish(2, make([]byte, 500)))
		must(t, p.Publish(1, make([]byte, 20)))
		must(t, p.Publish(3, make([]byte, 20)))
		time.Sleep(time.Second)
		synctest.Wait()
		if problems := s.of(bus.Problem); len(problems) > 0 || len(c.data[1]) != 1 || len(c.data[2]) != 1 || len(c.data[3]) != 1 {
			t.Errorf("got events %v and messages %d, want one of each tag", s.events, c.count())
		}
	})
}

// TestPublisher_theLargestMessageWithAPosition: a message of MaxMessageBytes has room on the wire with
// every policy. With its position, it was 8 bytes longer than the subscriber took.
func TestPublisher_theLargestMessageWithAPosition(t *testing.T) {
	for _, policy := range []bus.Policy{{}, {Kind: bus.DropOldest}, {Kind: bus.Latest}, {Kind: bus.Sample, Every: 1}} {
		t.Run(policy.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBed(t)
				const most = 1 << 16
				p := b.publisher(bus.PublisherConfig{Tags: tags.Of(5), Sending: bus.Sending{PageBytes: 4096, MaxMessageBytes: most, QueueBytes: 17 * 4096}})
				s := b.subscriber(bus.SubscriberConfig{})
				got := 0
				sub, err := s.SubscribeWith(tags.Of(5), func(m bus.Message) { got = len(m.Data) }, bus.SubscriptionConfig{Policy: policy})
				must(t, err)
				must(t, sub.Wait(t.Context()))
				must(t, p.Publish(5, make([]byte, most)))
				time.Sleep(time.Second)
				synctest.Wait()
				if got != most {
					t.Errorf("got a message of %d bytes, want %d; events %v", got, most, s.kinds())
				}
			})
		})
	}
}
