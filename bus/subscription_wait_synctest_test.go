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
	"tagbus/bus/directory"
	"tagbus/bus/directory/directorytest"
	"tagbus/tags"
)

// tardy is a directory that tells watchers of some entries late.
type tardy struct {
	directory.Directory
	late map[string]time.Duration // by name
}

func (d *tardy) Watch(notify func(directory.Event)) (stop func(), err error) {
	events, quit, ended := make(chan directory.Event, 100), make(chan struct{}), make(chan struct{})
	stopInner, err := d.Directory.Watch(func(e directory.Event) { events <- e })
	if err != nil {
		return nil, err
	}
	go func() {
		defer close(ended)
		for {
			select {
			case e := <-events:
				select {
				case <-time.After(d.late[e.Entry.Name]):
					notify(e)
				case <-quit:
					return
				}
			case <-quit:
				return
			}
		}
	}()
	return func() { stopInner(); close(quit); <-ended }, nil
}

// publisherNamed opens a publisher of tag 1.
func (b *bed) publisherNamed(name string) *bus.Publisher {
	b.tb.Helper()
	p, m := b.openPublisher(b.dir, bus.PublisherConfig{Tags: tags.Of(1), Common: bus.Common{Name: name}})
	b.tb.Cleanup(func() { _ = p.Close(); m.loop.Close() })
	return p
}

// subscriberOf opens a subscriber that looks at a directory.
func (b *bed) subscriberOf(dir directory.Directory) (*bus.Subscriber, *member) {
	b.tb.Helper()
	m := b.member()
	s, err := bus.NewSubscriber(b.opener(m), dir, bus.SubscriberConfig{Common: bus.Common{OnEvent: m.note}})
	must(b.tb, err)
	b.tb.Cleanup(func() { _ = s.Close(); m.loop.Close() })
	return s, m
}

// TestSubscription_Wait_forAllThatTheDirectoryHas: Wait, right after the start, returned with the first publisher
// that had acknowledged while the directory still told of others that had been there for long.
func TestSubscription_Wait_forAllThatTheDirectoryHas(t *testing.T) {
	for _, test := range []struct {
		name string
		dir  func(b *bed) directory.Directory
	}{
		{"one is told late", func(b *bed) directory.Directory {
			return &tardy{b.dir, map[string]time.Duration{"b": 2 * time.Second}}
		}},
		{"all are told late", func(b *bed) directory.Directory {
			return &tardy{b.dir, map[string]time.Duration{"a": 7 * time.Second, "b": 30 * time.Second}}
		}},
		{"nothing returns at first", func(b *bed) directory.Directory {
			d := directorytest.NewSilent(&tardy{b.dir, map[string]time.Duration{"b": time.Second}})
			d.Goes()
			time.AfterFunc(33*time.Second, d.Comes)
			return d
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBed(t)
				both := []*bus.Publisher{b.publisherNamed("a"), b.publisherNamed("b")}
				time.Sleep(time.Hour)
				s, _ := b.subscriberOf(test.dir(b))
				got := make(chan string, 10)
				sub, err := s.Subscribe(tags.Of(1), func(m bus.Message) { got <- string(m.Data) })
				must(t, err)
				must(t, sub.Wait(t.Context()))
				for _, p := range both {
					must(t, p.Publish(1, []byte("x")))
				}
				time.Sleep(time.Second)
				if len(got) != 2 {
					t.Errorf("got %d messages that were published after Wait, want those of both publishers", len(got))
				}
				must(t, sub.Wait(t.Context()))
			})
		})
	}
}

// TestSubscription_Wait_whileTheDirectoryDoesNotAnswer: the end of the context says so, and
// without one Wait is content with the publishers that it has, after a while.
func TestSubscription_Wait_whileTheDirectoryDoesNotAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t)
		b.publisherNamed("a")
		dir := directorytest.NewSilent(b.dir)
		s, _ := b.subscriberOf(dir)
		sub, err := s.Subscribe(tags.Of(1), func(bus.Message) {})
		must(t, err)
		time.Sleep(time.Second)
		dir.Goes()
		defer dir.Comes()
		ctx, cancel := context.WithTimeout(t.Context(), directory.Patience+time.Second)
		defer cancel()
		if err := sub.Wait(ctx); !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "the directory") {
			t.Errorf("got %v, want the end of the context, and that the directory has not answered", err)
		}
		start := time.Now()
		if err := sub.Wait(context.Background()); err != nil || time.Since(start) > 15*time.Second {
			t.Errorf("without a time: got %v after %v, want nil after some seconds", err, time.Since(start))
		}
	})
}

// TestSubscription_Wait_endsWithItsSubscriber, whatever the directory does.
func TestSubscription_Wait_endsWithItsSubscriber(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t)
		dir := directorytest.NewSilent(b.dir)
		s, _ := b.subscriberOf(dir)
		sub, err := s.Subscribe(tags.Of(1), func(bus.Message) {})
		must(t, err)
		dir.Goes()
		defer dir.Comes()
		time.AfterFunc(time.Second, func() { _ = s.Close() })
		if err := sub.Wait(context.Background()); !errors.Is(err, bus.ErrClosed) {
			t.Errorf("got %v, want ErrClosed", err)
		}
	})
}
