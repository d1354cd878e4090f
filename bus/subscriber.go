package bus

import (
	"errors"
	"net/netip"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nuid"

	"tagbus/bus/directory"
	"tagbus/internal/alarm"
	"tagbus/netio"
)

// Subscriber receives messages by tag from every publisher that has them. It
// watches the directory, connects to the publishers it needs, and connects
// again when a connection is lost.
//
// Threads: all methods may be called from any goroutine, and from callbacks
// unless they block. All state behind them lives on the loop: the methods post
// to it. Handlers and events run on the loop.
type Subscriber struct {
	cfg       SubscriberConfig
	instance  string
	host      string
	backend   netio.Backend
	loop      netio.Loop
	stopWatch func()

	laneMu      sync.Mutex
	laneConfigs []SubscriptionConfig // by the number of the lane

	absence time.Duration // of a receiver's senders, before they count as gone

	nextID   atomic.Uint64
	closed   atomic.Bool
	closer   closer
	finished chan struct{} // closed when Close has finished all subscriptions
	gone     chan struct{} // closed when goodbye is said to all publishers
	counters subscriberCounters
	retainer *retainer

	// Loop only.
	alarms  alarm.Clock // of all that has its time
	dialer  dialer
	reports alarm.Alarm // of skipping
	heart   heartbeat
	chores  chores
	later   []*untold // to be told by reportLater
	events  eventQueue

	leaving map[uint64]*Subscription // closed, and not yet ended everywhere
	sources map[string]*source       // by the publisher's instance
	past    []*source                // the last ones that were forgotten, for TagStats
	subs    subscriptionList         // open ones

	parting       bool // gone waits for connections
	choosy        int  // open subscriptions that do not take all publishers of a tag
	checking      bool // checkReady is going to
	reconsidering bool // reconsider is going to run

	oversized oversized
	compared  int               // steps of comparisons of publishers in this turn
	apart     map[pair]struct{} // to be compared in turns of their own
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
	s := newSubscriber(cfg.withDefaults())
	err := s.start(open, subscriberHandler{s})
	if err != nil {
		return nil, err
	}
	s.stopWatch, err = dir.Watch(func(e directory.Event) {
		s.loop.Post(func() { s.onDirectory(e) })
	})
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// newSubscriber makes a subscriber that has no backend yet. cfg has its
// defaults.
func newSubscriber(cfg SubscriberConfig) *Subscriber {
	s := &Subscriber{
		cfg:      cfg,
		instance: nuid.Next(),
		sources:  make(map[string]*source),
		leaving:  make(map[uint64]*Subscription),
		closer:   closer{ended: make(chan struct{})},
		finished: make(chan struct{}),
		gone:     make(chan struct{}),
		retainer: newRetainer(cfg.RetainBytes),
	}
	s.host, _ = os.Hostname() // only for people
	return s
}

// start opens the backend, which reports to h. After an error nothing is open.
func (s *Subscriber) start(open netio.Opener, h netio.Handler) (err error) {
	if s.backend, err = open(h); err != nil {
		return err
	}
	s.loop = s.backend.Loop()
	s.chores = newChores(s.loop.Post)
	s.events.start(s.loop, s.closer.call, s.cfg.OnEvent)
	s.dialer = dialer{
		backend: s.backend, alarms: &s.alarms, min: s.cfg.ReconnectMin, max: s.cfg.ReconnectMax,
		event: s.event, all: s.contacts, dialing: make(map[netip.AddrPort]*contact),
	}
	if err = alarm.Open(&s.alarms, s.loop.NewTimer); err != nil {
		return errors.Join(err, s.backend.Close())
	}
	s.reports.F = s.reportSkipped
	s.heart.start(&s.alarms, s.cfg.HeartbeatInterval, s.cfg.HeartbeatTimeout, s.onTick)
	return nil
}

// maxAbsent is how many publishers that are gone without goodbye are
// remembered, to count what was missed should they come back.
const maxAbsent = 64

// forgetOldest drops the publisher that is gone longest if too many are
// remembered. Loop only.
func (s *Subscriber) forgetOldest() {
	var oldest *source
	absent := 0
	for _, src := range s.sources {
		if src.listed || src.pending() {
			continue
		}
		absent++
		if oldest == nil || src.gone.Before(oldest.gone) {
			oldest = src
		}
	}
	if absent > maxAbsent {
		oldest.vanish()
		s.forget(oldest)
	}
}

// contacts yields those of all sources. Loop only.
func (s *Subscriber) contacts(yield func(*contact) bool) {
	for _, src := range s.sources {
		if !yield(&src.contact) {
			return
		}
	}
}

// onDirectory follows the directory. Loop only.
func (s *Subscriber) onDirectory(e directory.Event) {
	if s.closed.Load() || e.Kind != directory.Problem && e.Entry.Role != directory.Publisher {
		return
	}
	if s.oversized.refuses(e, func(err error) { s.event(Event{Kind: Problem, Err: err}) }) {
		return
	}
	src := s.sources[e.Entry.Instance]
	s.compared = 0
	switch e.Kind {
	case directory.Appeared, directory.Changed:
		if src == nil {
			src = newSource(s)
			s.sources[e.Entry.Instance] = src
		}
		src.take(e.Entry)
		src.meet()
		src.consider()
		src.checkAllDuplicates()
		if e.Kind == directory.Changed {
			s.checkReady()
		}
		s.reconsider()
	case directory.Gone:
		if src != nil {
			src.listed, src.gone = false, time.Now()
			src.unlisted()
			s.forgetOldest()
			s.checkReady()
			s.reconsider()
		}
	case directory.Problem:
		s.event(Event{Kind: Problem, Err: e.Err})
	}
}

// reportInterval is how often events tell what the policies Latest and Sample
// have left out, and what the subscriptions' own queues have lost.
const reportInterval = time.Second

// reportLater has reportSkipped called in a while. Loop only.
func (s *Subscriber) reportLater() {
	if len(s.later) == 1 {
		s.alarms.Set(&s.reports, reportInterval)
	}
}

// reportSkipped tells what is told once a second, before the next event. Loop only.
func (s *Subscriber) reportSkipped() {
	if len(s.later) > 0 {
		s.events.addGaps(&gapReport{s.later})
		s.later = nil
	}
}

// event reports e soon, on the loop, where no lock is held and no page is half
// delivered. Loop only.
func (s *Subscriber) event(e Event) {
	s.events.add(e, nil)
}
