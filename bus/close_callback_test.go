// SPDX-License-Identifier: Apache-2.0

package bus_test

import (
	"errors"
	"io"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"tagbus/bus"
	"tagbus/tags"
)

// Users' programs hung at their end: Close waited for a callback, and the
// callback, which closed too, for Close.
func TestPublisher_Close_insideACallbackDuringCloseElsewhere(t *testing.T) {
	tests := []struct {
		name string
		// open opens what is closed and makes it report an event. closing reports
		// whether Close has begun.
		open func(b *bed, onEvent func(bus.Event)) (closes io.Closer, closing func() bool)
	}{
		{"of a publisher", func(b *bed, onEvent func(bus.Event)) (io.Closer, func() bool) {
			p, _ := b.openPublisher(b.dir, bus.PublisherConfig{Tags: tags.Of(1), Common: bus.Common{OnEvent: onEvent}})
			_, err := b.subscriber(bus.SubscriberConfig{}).Subscribe(tags.Of(1), func(bus.Message) {})
			must(b.tb, err)
			return p, func() bool { return errors.Is(p.Publish(1, nil), bus.ErrClosed) }
		}},
		{"of a subscriber", func(b *bed, onEvent func(bus.Event)) (io.Closer, func() bool) {
			b.publisher(bus.PublisherConfig{Tags: tags.Of(1)})
			s, _ := b.openSubscriber(bus.SubscriberConfig{Common: bus.Common{OnEvent: onEvent}})
			subscribes := func() error {
				_, err := s.Subscribe(tags.Of(1), func(bus.Message) {})
				return err
			}
			must(b.tb, subscribes())
			return s, func() bool { return errors.Is(subscribes(), bus.ErrClosed) }
		}},
		{"of a sender", func(b *bed, onEvent func(bus.Event)) (io.Closer, func() bool) {
			b.receiver(bus.ReceiverConfig{Tags: tags.Of(1)}, func(bus.Message) {})
			s := b.sender(bus.SenderConfig{Tags: tags.Of(1), Common: bus.Common{OnEvent: onEvent}})
			return s, func() bool { return errors.Is(s.Send(1, nil), bus.ErrClosed) }
		}},
		{"of a receiver", func(b *bed, onEvent func(bus.Event)) (io.Closer, func() bool) {
			r := b.receiver(bus.ReceiverConfig{Tags: tags.Of(1), Common: bus.Common{OnEvent: onEvent}}, func(bus.Message) {})
			b.sender(bus.SenderConfig{Tags: tags.Of(1)})
			return r, func() bool { // its entry is withdrawn
				entries, err := b.dir.List()
				must(b.tb, err)
				return len(entries) == 0
			}
		}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			b := newBed(t)
			entered, release := make(chan struct{}), make(chan io.Closer)
			var calls atomic.Int32
			closes, closing := test.open(b, func(bus.Event) {
				if calls.Add(1) == 1 {
					close(entered)
					_ = (<-release).Close()
				}
			})
			<-entered
			done := make(chan struct{})
			go func() {
				defer close(done)
				closes.Close()
			}()
			for !closing() {
				runtime.Gosched()
			}
			release <- closes
			select {
			case <-done:
			case <-time.After(time.Minute):
				t.Fatal("Close hangs: it waits for a callback in which Close waits for it")
			}
		})
	}
}

// Users freed what their callbacks use when Close had returned, and the
// callbacks then used it.
func TestPublisher_Close_noEventAfterIt(t *testing.T) {
	tests := []struct {
		name string
		// open opens what reports an event while it is being closed.
		open func(b *bed, onEvent func(bus.Event)) (io.Closer, *member)
	}{
		{"of a publisher", func(b *bed, onEvent func(bus.Event)) (io.Closer, *member) {
			p, m := b.openPublisher(b.dir, bus.PublisherConfig{Tags: tags.Of(1), Common: bus.Common{OnEvent: onEvent}})
			for range 3 {
				subscribe(b.tb, b.subscriber(bus.SubscriberConfig{}), tags.Of(1), func(bus.Message) {})
			}
			return p, m
		}},
		{"of a sender", func(b *bed, onEvent func(bus.Event)) (io.Closer, *member) {
			for tag := range tags.Tag(3) {
				b.receiver(bus.ReceiverConfig{Tags: tags.Of(tag)}, func(bus.Message) {})
			}
			s := b.sender(bus.SenderConfig{Common: bus.Common{OnEvent: onEvent}})
			must(b.tb, s.WaitReceivers(b.tb.Context(), tags.Of(0, 1, 2)))
			return s, s.member
		}},
		{"of a receiver", func(b *bed, onEvent func(bus.Event)) (io.Closer, *member) {
			r := b.receiver(bus.ReceiverConfig{Tags: tags.Of(1), Common: bus.Common{OnEvent: onEvent}}, func(bus.Message) { panic("to be reported") })
			for range 3 {
				must(b.tb, b.sender(bus.SenderConfig{}).SendContext(b.tb.Context(), 1, nil))
			}
			return r, r.member
		}},
		{"of a subscriber", func(b *bed, onEvent func(bus.Event)) (io.Closer, *member) {
			p := b.publisher(bus.PublisherConfig{Tags: tags.Of(1)})
			s, m := b.openSubscriber(bus.SubscriberConfig{Common: bus.Common{OnEvent: onEvent}})
			entered := make(chan struct{})
			subscribe(b.tb, &subscriber{s, m}, tags.Of(1), func(bus.Message) {
				close(entered)
				var err error
				for !errors.Is(err, bus.ErrClosed) { // until Close has begun
					_, err = s.Subscribe(tags.Of(1), func(bus.Message) {})
				}
				<-time.After(10 * time.Millisecond) // and waits for the loop
				panic("to be reported")
			})
			must(b.tb, p.Publish(1, nil))
			<-entered
			return s, m
		}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var ended atomic.Bool
			var late atomic.Int32
			returned := make(chan struct{})
			closes, m := test.open(newBed(t), func(e bus.Event) {
				if e.Kind == bus.Lost || e.Kind == bus.Problem {
					select { // give Close the time to return too early
					case <-returned:
					case <-time.After(20 * time.Millisecond):
					}
				}
				if ended.Load() {
					late.Add(1)
				}
			})
			must(t, closes.Close())
			ended.Store(true)
			close(returned)
			m.loop.Close() // when all that was posted has run
			if n := late.Load(); n > 0 {
				t.Errorf("OnEvent ran %d times after Close had returned", n)
			}
		})
	}
}
