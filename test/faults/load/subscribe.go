// SPDX-License-Identifier: Apache-2.0

//go:build linux

package load

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strings"
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
	takes    []take
	all      bool // tags of which nothing has come are written down, too
	slots    int
	slow     time.Duration
	laggard  chan os.Signal
	lagging  time.Time // until when each message takes lag
	panics   int
	churn    bool
	cycles   int // of churn
	messages int
	ledger   ledger
}

// take is tags that are subscribed to with one policy.
type take struct {
	policy bus.Policy
	tags   tags.Set
}

// A subscriber that lags takes lag for each message, for lagsFor.
const (
	lag     = 2 * time.Millisecond
	lagsFor = 4 * time.Second
)

// subscribe is the program: it subscribes to tag 1 with the first of Policies, to tag 2 with the second, and so
// on, or as -take says, until SIGTERM. SIGUSR2 makes it lag for a while.
func subscribe(c *common, args []string) int {
	s := &subscriber{common: c, laggard: make(chan os.Signal, 1)}
	signal.Notify(s.laggard, syscall.SIGUSR2)
	c.Func("take", "`POLICY=TAGS` in the place of Policies, any number of times", s.take)
	c.IntVar(&s.slots, "slots", Slots, "how many streams there are at a time, of publishers that are not judged")
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
	if s.ledger, err = newLedger(s.record, s.slots); err == nil {
		err = s.expect()
	}
	if err != nil {
		return s.failed(2, err)
	}
	n, err := s.open()
	if err == nil {
		err = s.vitals(stop)
	}
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
	for _, t := range s.takes {
		sub, err := handle.SubscribeWith(t.tags, s.message, bus.SubscriptionConfig{Policy: t.policy})
		if err != nil {
			return nil, err
		}
		subs = append(subs, sub)
	}
	return subs, nil
}

// expect makes takes of Policies, if there are none.
//
// Errors: those of take.
func (s *subscriber) expect() error {
	if s.takes != nil {
		return nil
	}
	s.all = true
	for i, text := range Policies {
		if err := s.take(fmt.Sprintf("%s=%d", text, i+1)); err != nil {
			return err
		}
	}
	return nil
}

// take notes a policy and its tags.
//
// Errors: those of the policy and of the tags.
func (s *subscriber) take(text string) error {
	policy, set, _ := strings.Cut(text, "=")
	p, err := bus.ParsePolicy(policy)
	if err != nil {
		return err
	}
	t, err := tags.ParseSet(set)
	if err != nil {
		return err
	}
	s.takes = append(s.takes, take{p, t})
	return nil
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
	s.ledger.judge(m.Publisher, m.Tag).Observe(m.Data, record.Now())
	select {
	case <-s.laggard:
		s.lagging = time.Now().Add(lagsFor)
	default:
	}
	if s.lagging != (time.Time{}) {
		s.lags()
	}
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

func (s *subscriber) lags() {
	if time.Now().After(s.lagging) {
		s.lagging = time.Time{}
		return
	}
	<-time.After(lag) // what a handler must not do
}

// told takes note of an event.
func (s *subscriber) told(e bus.Event) {
	s.event(e)
	switch e.Kind {
	case bus.Gap:
		s.ledger.slot(e.Peer.Instance, e.Tag).Told[cause(e.Err)] += e.Count
	case bus.Connected:
		s.ledger.back(e.Peer.Instance)
	case bus.Goodbye, bus.Vanished:
		if s.all {
			for _, t := range s.takes {
				for tag := range t.tags.All() {
					s.ledger.slot(e.Peer.Instance, tag)
				}
			}
		}
		s.ledger.ended(e.Peer.Instance, e.Kind == bus.Goodbye)
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
