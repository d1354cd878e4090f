// SPDX-License-Identifier: Apache-2.0

//go:build linux

package load

import (
	"context"
	"errors"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"tagbus/bus"
	"tagbus/tags"
	"tagbus/test/faults/internal/check"
	"tagbus/test/faults/internal/record"
)

// Churned is the first tag of those that are subscribed to with -churn.
const Churned tags.Tag = 0x1000

// Policies are those of the tags from 1 on.
var Policies = []string{"block", "drop-newest", "drop-oldest", "latest", "sample:3", "disconnect:5s"}

// longestPause is how long a subscriber waits before another try to connect, at most.
const longestPause = time.Second

type subscriber struct {
	*common
	slow     time.Duration
	panics   int
	churn    bool
	cycles   int // of churn
	messages int
	got      []check.Got
	taken    int
	judges   map[*bus.Peer]map[tags.Tag]*check.Judge
	byName   map[check.Name]map[tags.Tag]*check.Got
}

// subscribe is the program: it subscribes to tag 1 with the first of Policies, to tag 2 with the second, and so
// on, until SIGTERM.
func subscribe(c *common, args []string) int {
	s := &subscriber{
		common: c, judges: make(map[*bus.Peer]map[tags.Tag]*check.Judge), byName: make(map[check.Name]map[tags.Tag]*check.Got),
	}
	c.DurationVar(&s.slow, "slow", 0, "how long the handler takes for each message of tag 1")
	c.IntVar(&s.panics, "panic-every", 0, "message of tag 1 at which the handler panics, after it was counted")
	c.BoolVar(&s.churn, "churn", false, "subscribe to tags of its own, and unsubscribe, all the time")
	_ = c.Parse(args) // flag.ExitOnError
	return s.run()
}

func (s *subscriber) run() int {
	stop, end := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer end()
	var err error
	if s.got, err = record.Create[check.Got](s.record, Slots); err != nil {
		return s.failed(2, err)
	}
	n, err := s.open()
	if err != nil {
		return s.failed(2, err)
	}
	handle, err := n.NewSubscriber(bus.SubscriberConfig{Common: s.settings(s.told), Dialing: bus.Dialing{ReconnectMax: longestPause}})
	if err != nil {
		return s.failed(2, errors.Join(err, n.Close()))
	}
	s.say(Line{What: "ready", Instance: handle.Instance()})
	subs, err := s.subscriptions(handle)
	if err != nil {
		return s.failed(2, errors.Join(err, n.Close()))
	}
	ctx, cancel := context.WithCancel(stop)
	var others sync.WaitGroup
	others.Go(func() { s.waits(ctx, subs) })
	others.Go(func() {
		for s.churn && ctx.Err() == nil {
			s.cycle(ctx, handle)
		}
	})
	<-stop.Done()
	cancel()
	others.Wait()
	if err := n.Close(); err != nil {
		return s.failed(1, err)
	}
	s.say(Line{What: "ended", Count: s.cycles})
	return 0
}

// subscriptions subscribes to all tags.
//
// Errors: those of the policies, and of Subscribe.
func (s *subscriber) subscriptions(handle *bus.Subscriber) (subs []*bus.Subscription, err error) {
	for i, text := range Policies {
		policy, err := bus.ParsePolicy(text)
		if err != nil {
			return nil, err
		}
		sub, err := handle.SubscribeWith(tags.Of(tags.Tag(i+1)), s.message, bus.SubscriptionConfig{Policy: policy})
		if err != nil {
			return nil, err
		}
		subs = append(subs, sub)
	}
	return subs, nil
}

// waits says when all subscriptions are acknowledged: from then on nothing is missed and not told.
func (s *subscriber) waits(ctx context.Context, subs []*bus.Subscription) {
	for _, sub := range subs {
		if err := sub.Wait(ctx); err != nil {
			s.say(Line{What: "not complete", Err: err.Error()})
			return
		}
	}
	s.say(Line{What: "complete"})
}

// cycle subscribes to many tags and unsubscribes.
func (s *subscriber) cycle(ctx context.Context, handle *bus.Subscriber) {
	set, err := tags.Range(Churned, Churned+999)
	if err != nil {
		return
	}
	sub, err := handle.Subscribe(set, func(bus.Message) {})
	if err == nil {
		err = errors.Join(sub.Wait(ctx), sub.Unsubscribe(ctx))
	}
	switch {
	case ctx.Err() != nil:
	case err != nil:
		s.say(Line{What: "churn failed", Err: err.Error()})
	default:
		s.cycles++
	}
}

// message is the handler: it runs on the loop, as told does.
func (s *subscriber) message(m bus.Message) {
	judges := s.judges[m.Publisher]
	if judges == nil {
		judges = s.known(m.Publisher)
	}
	j := judges[m.Tag]
	if j == nil {
		j = check.NewJudge(s.slot(m.Publisher.Instance, m.Tag), m.Publisher.Instance, uint64(m.Tag))
		judges[m.Tag] = j
	}
	j.Observe(m.Data, record.Now())
	if m.Tag != 1 {
		return
	}
	if s.slow > 0 {
		<-time.After(s.slow) // what a handler must not do
	}
	if s.messages++; s.panics > 0 && s.messages%s.panics == 0 {
		panic("the handler panics on purpose")
	}
}

// known returns the judges of a publisher, which stay when its connection does not.
func (s *subscriber) known(peer *bus.Peer) map[tags.Tag]*check.Judge {
	for other, judges := range s.judges {
		if other.Instance == peer.Instance {
			delete(s.judges, other)
			s.judges[peer] = judges
			return judges
		}
	}
	s.judges[peer] = make(map[tags.Tag]*check.Judge)
	return s.judges[peer]
}

// slot returns where a stream is written down.
func (s *subscriber) slot(publisher string, tag tags.Tag) *check.Got {
	name := check.NameOf(publisher)
	if s.byName[name] == nil {
		s.byName[name] = make(map[tags.Tag]*check.Got)
	}
	if s.byName[name][tag] == nil {
		if s.taken == len(s.got) {
			panic("load: more streams than a record has slots for")
		}
		s.byName[name][tag] = &s.got[s.taken]
		s.got[s.taken] = check.Got{Publisher: name, Tag: uint64(tag)}
		s.taken++
	}
	return s.byName[name][tag]
}

// told takes note of an event.
func (s *subscriber) told(e bus.Event) {
	s.event(e)
	switch e.Kind {
	case bus.Gap:
		s.slot(e.Peer.Instance, e.Tag).Told[cause(e.Err)] += e.Count
	case bus.Goodbye, bus.Vanished:
		for i := range Policies {
			g := s.slot(e.Peer.Instance, tags.Tag(i+1))
			if e.Kind == bus.Goodbye {
				g.Goodbye = 1
			} else {
				g.Vanished = 1
			}
		}
	default: // the checker needs no other
	}
}

// cause returns what the bus names as the cause of a loss.
func cause(err error) check.Cause {
	for is, known := range map[error]check.Cause{
		bus.ErrTooSlow: check.Full, bus.ErrPublisherMemory: check.Memory, bus.ErrConnectionLost: check.Connection,
		bus.ErrPublisherEnded: check.Ended, bus.ErrLeftOut: check.LeftOut, bus.ErrQueueFull: check.Queue,
	} {
		if errors.Is(err, is) {
			return known
		}
	}
	return check.Other
}
