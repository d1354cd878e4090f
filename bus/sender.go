// SPDX-License-Identifier: Apache-2.0

package bus

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync/atomic"

	"tagbus/acl"
	"tagbus/bus/directory"
	"tagbus/bus/internal/dialer"
	"tagbus/bus/internal/discovery"
	"tagbus/bus/internal/workqueue"
	"tagbus/netio"
	"tagbus/subscription"
	"tagbus/tags"
)

// Sender sends messages by tag to the Receiver that owns the tag: the direction to the
// detector. It finds the receivers in the directory and dials them. From then on it
// acts as a Publisher does for a subscriber: with the same pages, policies, queues and
// accounting.
//
// Each tag has one owner. While two receivers announce the same tag, the connected one
// gets the messages and the other none. A Duplicate event with a *DuplicateError says
// so.
//
// Threads: all methods may be called from any goroutine, and from callbacks
// unless they block.
type Sender struct {
	is any // a *senderImpl
}

// senderOf returns what a Sender is, as publisherOf does.
func senderOf(handle *Sender) *senderImpl { return handle.is.(*senderImpl) }

// senderImpl is what a Sender is.
type senderImpl struct {
	Sender // as its user has it

	pub   *publisherImpl // which queues and sends
	ended atomic.Bool    // draining or closed: dial no more

	wants atomic.Pointer[tags.Set] // connect to the receivers of these; set on the loop only

	acked, unacked, unowned atomic.Uint64

	// Loop only.
	dialer    dialer.Dialer
	directory discovery.Follower[*outlet]
	outlets   map[string]*outlet // by the receiver's instance
	dialed    map[*link]*outlet  // that have a connection
	freeing   workqueue.Once     // of freed

	owners exclusive
}

// NewSender opens a sender that finds receivers in dir. Close it.
//
//   - open: the transport, for example tcp.Opener(loop, tcp.Config{}).
//   - Errors: ErrInvalidConfig, joined violations; the backend's; the
//     directory's.
//   - Blocks: for the directory's storage.
func NewSender(open netio.Opener, dir directory.Directory, cfg SenderConfig) (*Sender, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	cfg = cfg.withDefaults()
	s := &senderImpl{outlets: make(map[string]*outlet), dialed: make(map[*link]*outlet)}
	p, err := newPublisher(open, subscription.RoleSender, func(p *publisherImpl) netio.Handler { return senderHandler{publisherHandler{p}, s} }, cfg.publisher().withDefaults(), ErrNoReceiver)
	if err != nil {
		return nil, err
	}
	s.pub, s.is = p, s
	s.wants.Store(&cfg.Tags)
	s.directory = discovery.Follower[*outlet]{
		Role: directory.Receiver, Users: s.outlets, Create: func() *outlet { return newOutlet(s) },
		Refuse: entryLimit, Problem: p.problem,
	}
	s.owners.sender = s
	p.ownership, p.action = &s.owners, acl.Receive
	if err = p.start(); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	s.dialer = dialer.NewDialer(&p.alarms, cfg.ReconnectMin, cfg.ReconnectMax, helloTimeout, p.own.Backends)
	if err = s.directory.Watch(directory.Patient(dir), p.loop.Post, &p.work, s.ended.Load); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	if !cfg.Unlisted {
		p.list(dir, directory.Sender, func() (tags.Set, bool) { return *s.wants.Load(), !s.ended.Load() })
	}
	return &s.Sender, nil
}

// Instance returns the sender's id: a nuid, new for every Sender.
//
//go:noinline
func (handle *Sender) Instance() string { return senderOf(handle).pub.own.Instance }

// WaitReceivers waits until every tag of a set has a connected receiver that has
// subscribed, so that Send finds it.
//
//   - set: of SenderConfig.Tags, if that names any. Their receivers are dialed.
//   - Errors: *PublishError with ErrUnknownTag; ErrClosed; ErrOnLoop;
//     tags.ErrTooComplex, wrapped, when the sets have too many overlapping masks
//     to compare; the cause of the end of ctx.
//   - Threads: any.
func (handle *Sender) WaitReceivers(ctx context.Context, set tags.Set) error {
	s := senderOf(handle)
	foreign, err := set.Without(s.pub.cfg.Tags)
	if err != nil {
		return fmt.Errorf("bus: wait for receivers of %s: %w", shortSet(set), err)
	}
	for tag := range foreign.All() {
		return &PublishError{Tag: tag, Err: ErrUnknownTag, sender: true}
	}
	if !s.pub.loop.Post(func() {
		wants := s.wants.Load().Union(set)
		s.wants.Store(&wants)
		s.want(set)
		s.pub.listing.Load().Changed()
	}) {
		return ErrClosed
	}
	if err := s.pub.WaitSubscribers(ctx, 1, set); err != nil {
		if errors.Is(err, ErrClosed) || errors.Is(err, ErrOnLoop) {
			return err
		}
		return fmt.Errorf("bus: wait for receivers of %s: %w", shortSet(set), err)
	}
	return nil
}

// Offers looks which receivers of the directory have a tag of a set, and if none has,
// which are nearest to it, as Subscriber.Offers.
//
//   - Errors, threads, blocking: as Subscriber.Offers.
func (handle *Sender) Offers(ctx context.Context, wanted tags.Set) (Offers, error) {
	s := senderOf(handle)
	if s.ended.Load() {
		return Offers{}, ErrClosed
	}
	return s.pub.offers(ctx, wanted, true, func(yield func(*peerContact) bool) {
		for _, out := range s.outlets {
			if !yield(&out.contact) {
				return
			}
		}
	})
}

// SenderStats counts what a sender has done. Its Subscribers are the receivers
// that are connected.
type SenderStats struct {
	PublisherStats
	NoReceiver uint64 // messages refused because no connected receiver owns the tag
	Acked      uint64 // messages that SendAcked knows to be handled
	Unacked    uint64 // messages that were accepted and for which SendAcked has failed
}

// Stats returns the sender's counters. Threads: any.
func (handle *Sender) Stats() SenderStats {
	s := senderOf(handle)
	return SenderStats{s.pub.Stats(), s.unowned.Load(), s.acked.Load(), s.unacked.Load()}
}

// TagLosses returns what a receiver did not get of each tag; see
// Publisher.TagLosses.
//
//   - instance: Peer.Instance of the receiver.
//
//go:noinline
func (handle *Sender) TagLosses(instance string) []TagLosses {
	return senderOf(handle).pub.TagLosses(instance)
}

// Drain ends the sender in order. It accepts no more messages, sends the accepted ones,
// and sends every receiver the final positions. It returns when all receivers have
// received that and left. A Close after it loses nothing. Waiting SendAcked calls are
// answered meanwhile.
//
//   - Errors: as Publisher.Drain.
//   - Threads: any.
func (handle *Sender) Drain(ctx context.Context) error { return handle.DrainFailed(ctx, nil) }

// DrainFailed is Drain for a sender that ends because something has failed; see
// Publisher.DrainFailed.
//
//   - why: for the receivers; nil: as Drain.
//   - Errors: as Publisher.Drain.
//   - Threads: any.
func (handle *Sender) DrainFailed(ctx context.Context, why error) error {
	s := senderOf(handle)
	if !s.pub.loop.OnAnyLoop() {
		s.ended.Store(true)
	}
	return s.pub.DrainFailed(ctx, why)
}

// Close ends the sender at once. Messages not yet sent are lost to their
// receivers; use Drain first to end in order. The second call does nothing.
//
//   - Blocks: until the last callback has run; from inside a callback, of any node,
//     it returns at once.
//
//go:noinline
func (handle *Sender) Close() error {
	s := senderOf(handle)
	return s.pub.closer.Close(s.pub.backend, s.close)
}

func (s *senderImpl) close() (later bool, err error) {
	s.ended.Store(true)
	unlisted := s.pub.listing.Load().End()
	s.directory.End()
	later, err = s.pub.close()
	if !s.pub.loop.OnAnyLoop() {
		unlisted()
	}
	return later, err
}

// want connects to the receivers of a set. Loop only.
func (s *senderImpl) want(set tags.Set) {
	for _, out := range s.outlets {
		if !out.used && out.contact.Entry.Tags.Intersects(set) {
			out.used = true
			out.consider()
		}
	}
}

// freed considers all receivers, of which one may have waited for a tag to become free. It
// does so once for all connections that end at the same time. Loop only.
func (s *senderImpl) freed() {
	s.freeing.Add(&s.pub.work, func() workqueue.Job {
		return workqueue.Each(slices.Collect(maps.Values(s.outlets)), func(out *outlet) (steps int) {
			out.consider()
			return s.considerSteps()
		})
	})
}

// considerSteps is the cost of outlet.consider. fan.Mu is not held. Loop only.
func (s *senderImpl) considerSteps() int { return 1 + len(s.dialed) }
