// SPDX-License-Identifier: Apache-2.0

package bus_test

import (
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"tagbus/bus"
	"tagbus/netio"
	"tagbus/tags"
)

// timerLoop counts the timers of a loop.
type timerLoop struct {
	netio.Loop
	most         int32 // timers that it can open; the others fail
	opened, open *atomic.Int32
}

func (l timerLoop) NewTimer(f func()) (netio.Timer, error) {
	if l.opened.Load() == l.most {
		return nil, errNoTimer
	}
	timer, err := l.Loop.NewTimer(f)
	l.opened.Add(1)
	l.open.Add(1)
	return &countedTimer{Timer: timer, open: l.open}, err
}

type countedTimer struct {
	netio.Timer
	open   *atomic.Int32
	closed atomic.Bool
}

func (t *countedTimer) Close() error {
	if !t.closed.Swap(true) {
		t.open.Add(-1)
	}
	return t.Timer.Close()
}

// users open each kind of user of a loop, which then has a peer and work to do.
var users = map[string]func(b *bed, m *member, open netio.Opener) (close func() error, err error){
	"publisher": func(b *bed, m *member, open netio.Opener) (func() error, error) {
		p, err := bus.NewPublisher(open, b.dir, bus.PublisherConfig{Tags: tags.Of(1), Listening: bus.Listening{Listen: anyPort(m.host)}})
		if err != nil {
			return nil, err
		}
		s := b.subscriber(bus.SubscriberConfig{})
		_, err = s.SubscribeWith(tags.Of(1), ignore, bus.SubscriptionConfig{Policy: bus.Policy{Kind: bus.Latest}})
		must(b.tb, err)
		time.Sleep(time.Second)
		for range 10 {
			must(b.tb, p.Publish(1, []byte("message")))
		}
		return p.Close, nil
	},
	"subscriber": func(b *bed, _ *member, open netio.Opener) (func() error, error) {
		s, err := bus.NewSubscriber(open, b.dir, bus.SubscriberConfig{})
		if err != nil {
			return nil, err
		}
		b.publisher(bus.PublisherConfig{Tags: tags.Of(1)})
		_, err = s.SubscribeWith(tags.Of(1), ignore, bus.SubscriptionConfig{Timeout: time.Minute})
		must(b.tb, err)
		return s.Close, nil
	},
	"sender": func(b *bed, _ *member, open netio.Opener) (func() error, error) {
		s, err := bus.NewSender(open, b.dir, bus.SenderConfig{Tags: tags.Of(1)})
		if err != nil {
			return nil, err
		}
		b.receiver(bus.ReceiverConfig{Tags: tags.Of(1)}, ignore)
		must(b.tb, s.SendContext(b.tb.Context(), 1, nil))
		return s.Close, nil
	},
	"receiver": func(b *bed, m *member, open netio.Opener) (func() error, error) {
		r, err := bus.NewReceiver(open, b.dir, bus.ReceiverConfig{Tags: tags.Of(1), Listening: bus.Listening{Listen: anyPort(m.host)}}, ignore)
		if err != nil {
			return nil, err
		}
		s := b.sender(bus.SenderConfig{Tags: tags.Of(1)})
		must(b.tb, s.SendContext(b.tb.Context(), 1, nil))
		return r.Close, nil
	},
}

// Each timer is a descriptor: of 1,000 subscribers in a process, too.
func TestPublisher_timersOfALoop(t *testing.T) {
	want := map[string]int32{"publisher": 2, "subscriber": 1, "sender": 2, "receiver": 1}
	for name, use := range users {
		for most := range want[name] + 2 {
			t.Run(name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					b := newBed(t)
					m := b.member()
					t.Cleanup(m.loop.Close)
					var opened, open atomic.Int32
					opener := func(h netio.Handler) (netio.Backend, error) {
						backend, err := b.opener(m)(h)
						return withLoop{backend, timerLoop{m.loop, most, &opened, &open}}, err
					}
					end, err := use(b, m, opener)
					if most < want[name] {
						if !errors.Is(err, errNoTimer) {
							t.Errorf("with %d timers: got error %v, want %v", most, err, errNoTimer)
						}
					} else {
						must(t, err)
						time.Sleep(time.Minute)
						must(t, end())
						if got := opened.Load(); got != want[name] {
							t.Errorf("got %d timers, want %d", got, want[name])
						}
					}
					synctest.Wait()
					if got := open.Load(); got != 0 {
						t.Errorf("got %d timers left of %d, want none", got, opened.Load())
					}
				})
			})
		}
	}
}
