// SPDX-License-Identifier: Apache-2.0

package bus

import (
	"errors"
	"net/netip"
	"slices"
	"sync/atomic"
	"time"

	"tagbus/bus/directory"
	"tagbus/bus/internal/coarseclock"
	"tagbus/bus/internal/dialer"
	"tagbus/bus/internal/discovery"
	"tagbus/bus/internal/events"
	"tagbus/bus/internal/overlap"
	"tagbus/bus/internal/request"
	"tagbus/bus/internal/retain"
	"tagbus/bus/internal/snapshot"
	"tagbus/bus/internal/ways"
	"tagbus/bus/internal/workqueue"
	"tagbus/internal/alarm"
	"tagbus/netio"
	"tagbus/subscription"
)

// Subscriber receives messages by tag from every publisher that has them. It
// watches the directory, connects to the publishers it needs, and connects
// again when a connection is lost.
//
// Threads: all methods may be called from any goroutine, and from callbacks
// unless they block. All state behind them lives on the loop: the methods post
// to it. Handlers and events run on the loop.
type Subscriber struct {
	is any // a *subscriberImpl
}

// subscriberOf returns what a Subscriber is, as publisherOf does.
func subscriberOf(handle *Subscriber) *subscriberImpl { return handle.is.(*subscriberImpl) }

// subscriberImpl is what a Subscriber is.
type subscriberImpl struct {
	Subscriber // as its user has it

	side
	cfg      SubscriberConfig
	lanes    request.Lanes[SubscriptionConfig]
	nextID   atomic.Uint64
	closed   atomic.Bool
	finished chan struct{} // closed when Close has finished all subscriptions
	gone     chan struct{} // closed when goodbye is said to all publishers
	counters subscriberCounters
	retainer *retain.Retainer

	second coarseclock.Clock // tells when something was lost

	// Loop only.
	dialer    dialer.Dialer
	directory discovery.Follower[*source]
	reports   alarm.Alarm // of gaps and losses that are not told at once
	beat      []byte      // as it is sent to all
	gaps      *events.Gaps[Event, lostTag]

	leaving map[uint64]*subscriptionImpl      // closed, and not yet ended everywhere
	sources map[string]*source                // by the publisher's instance
	past    []*source                         // the last ones that were forgotten, for TagStats
	pasts   snapshot.Pasts                    // of the connections that have ended
	subs    workqueue.List[*subscriptionImpl] // open ones, by their ids, which is by their ages

	parting  bool           // gone waits for connections
	checking workqueue.Once // of checkReady
	absent   discovery.Kept[*source]

	duplicates overlap.Choice[*source, *subscriptionImpl]
}

// NewSubscriber opens a subscriber that finds publishers in dir. Close it.
//
//   - open: the transport, for example tcp.Opener(loop, tcp.Config{}).
//   - Errors: ErrInvalidConfig, joined violations; the backend's; the
//     directory's.
//   - Blocks: for the directory's storage.
func NewSubscriber(open netio.Opener, dir directory.Directory, cfg SubscriberConfig) (*Subscriber, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	s := newSubscriber(cfg.withDefaults(), "")
	err := s.start(open, subscriberHandler{s})
	if err != nil {
		return nil, err
	}
	if err = s.directory.Watch(directory.Patient(dir), s.loop.Post, &s.work, s.closed.Load); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	if !cfg.Unlisted {
		s.list(dir, directory.Subscriber, s.listed)
	}
	return &s.Subscriber, nil
}

// newSubscriber makes a subscriber that has no backend yet. cfg has its defaults.
//
//   - role: in its hello.
func newSubscriber(cfg SubscriberConfig, role string) *subscriberImpl {
	s := &subscriberImpl{
		cfg:      cfg,
		sources:  make(map[string]*source),
		leaving:  make(map[uint64]*subscriptionImpl),
		finished: make(chan struct{}),
		gone:     make(chan struct{}),
		retainer: retain.New(cfg.RetainBytes),
	}
	s.is = s
	s.init(&s.cfg.Common, role)
	s.most = cfg.MaxMessageBytes
	s.directory = discovery.Follower[*source]{
		Role: directory.Publisher, Users: s.sources, Create: func() *source { return newSource(s) },
		Refuse: entryLimit, Problem: s.problem,
	}
	s.absent = s.kept()
	return s
}

// start opens the backend, which reports to h. After an error nothing is open.
func (s *subscriberImpl) start(open netio.Opener, h netio.Handler) (err error) {
	if err = s.open(open, h); err != nil {
		return err
	}
	s.duplicates = overlap.NewChoice(choosing{s}, &s.work, s.loop.Post)
	s.gaps = events.NewGaps[Event, lostTag](s.events)
	s.dialer = dialer.NewDialer(&s.alarms, s.cfg.ReconnectMin, s.cfg.ReconnectMax, helloTimeout, s.own.Backends)
	if err = s.begin(s.reviewAccess, s.onTick); err == nil {
		s.beat, err = subscription.Append(nil, &subscription.Beat{})
	}
	if err != nil {
		return errors.Join(err, s.backend.Close())
	}
	s.reports.F = s.report
	s.second.Start(&s.alarms, s.loop.Post)
	return nil
}

// maxAbsent is how many publishers without goodbye are remembered, to count missed
// messages if they come back.
const maxAbsent = 64

// kept returns what bounds them.
func (s *subscriberImpl) kept() discovery.Kept[*source] {
	return discovery.Kept[*source]{
		Users: s.sources, Work: &s.work, Most: maxAbsent,
		Of: func(src *source) (discovery.Absence, time.Time) {
			switch {
			case src.contact.Listed:
				return discovery.Here, src.contact.Gone
			case src.contact.Pending():
				return discovery.Going, src.contact.Gone
			}
			return discovery.Absent, src.contact.Gone
		},
		Forget: func(src *source) (steps int) {
			src.vanish()
			s.forget(src)
			return forgetSteps
		},
	}
}

// forgetSteps is the cost of forgetting a publisher.
const forgetSteps = 32

// forget drops a publisher that is not going to come back. TagStats still lists it.
func (s *subscriberImpl) forget(src *source) {
	delete(s.sources, src.contact.Entry.Instance)
	src.contact.Rest()
	s.duplicates.Forget(&src.served)
	if src.in.Lanes() == 0 {
		return
	}
	if len(s.past) == maxPast {
		s.past = slices.Delete(s.past, 0, 1)
	}
	s.past = append(s.past, src)
}

// subscriberHandler is a Subscriber as its backend sees it. A connection without a source, at a
// Receiver, is still at the desk. Every method runs on the loop.
type subscriberHandler struct{ *subscriberImpl }

// OnConnectionEstablished implements netio.Handler.
func (s subscriberHandler) OnConnectionEstablished(ep netio.Endpoint) {
	ep.Context().(*source).established(ep)
}

// OnConnectionRefused implements netio.Handler.
func (s subscriberHandler) OnConnectionRefused(addr netip.AddrPort, err error) {
	s.dialer.Refused(s.own.Backends.Refused(addr, err), err)
}

// OnConnectionClosed implements netio.Handler.
func (s subscriberHandler) OnConnectionClosed(ep netio.Endpoint, _ []netio.Key, cause error) {
	src, ok := ep.Context().(*source)
	switch {
	case !ok:
		s.desk.Closed(ep)
	case src.contact.Ep == ep:
		src.lost(cause)
	case !s.closed.Load(): // a connection to another address was faster
		s.dialer.Freed(ways.TargetOf(ep))
	}
}

// OnData implements netio.Handler.
func (s subscriberHandler) OnData(ep netio.Endpoint, data []byte) {
	if s.closed.Load() {
		return
	}
	if src, ok := ep.Context().(*source); ok {
		src.onData(data)
		return
	}
	s.desk.Data(ep, data)
}

// OnDataParts implements netio.PartsHandler.
func (s subscriberHandler) OnDataParts(ep netio.Endpoint, head, data []byte) (taken bool) {
	if s.closed.Load() {
		return true
	}
	src, ok := ep.Context().(*source)
	return ok && src.onParts(head, data)
}

// OnSendCompleted implements netio.Handler.
func (s subscriberHandler) OnSendCompleted(c netio.Completion) {
	if src, ok := c.Endpoint.Context().(*source); ok {
		src.out.Completed()
		return
	}
	s.desk.Sent(c.Endpoint)
}

// OnSendReady implements netio.Handler.
func (s subscriberHandler) OnSendReady(ep netio.Endpoint) {
	if src, ok := ep.Context().(*source); ok {
		src.out.Pump()
		return
	}
	s.desk.SendReady(ep)
}
