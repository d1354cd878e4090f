// SPDX-License-Identifier: Apache-2.0

package bus

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"tagbus/acl"
	"tagbus/bus/directory"
	"tagbus/bus/internal/dialer"
	"tagbus/bus/internal/discovery"
	"tagbus/bus/internal/fanout"
	"tagbus/bus/internal/listing"
	"tagbus/bus/internal/wire"
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

	listing atomic.Pointer[listing.Listing] // nil: it is not listed
	wants   atomic.Pointer[tags.Set]        // connect to the receivers of these; set on the loop only

	acked, unacked, unowned atomic.Uint64

	// Loop only.
	dialer    dialer.Dialer
	directory discovery.Follower[*outlet]
	outlets   map[string]*outlet // by the receiver's instance
	dialed    map[*link]*outlet  // that have a connection
	freeing   bool               // freed is going to consider all outlets

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
	p, err := newPublisher(open, func(p *publisherImpl) netio.Handler { return senderHandler{publisherHandler{p}, s} }, cfg.publisher().withDefaults(), ErrNoReceiver)
	if err != nil {
		return nil, err
	}
	s.pub, s.is = p, s
	s.wants.Store(&cfg.Tags)
	s.directory = discovery.Follower[*outlet]{
		Role: directory.Receiver, Users: s.outlets, Create: func() *outlet { return newOutlet(s) },
		Refuse: entryLimit, Problem: func(err error) { p.event(Event{Kind: Problem, Err: err}) },
	}
	s.owners.sender = s
	p.role, p.ownership, p.action = subscription.RoleSender, &s.owners, acl.Receive
	if err = p.start(); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	s.dialer = dialer.NewDialer(&p.alarms, cfg.ReconnectMin, cfg.ReconnectMax, helloTimeout)
	if err = s.directory.Watch(directory.Patient(dir), p.loop.Post, &p.work, s.ended.Load); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	if !cfg.Unlisted {
		s.listing.Store(list(dir, cfg.Monitor, s.listed, p.loop, &p.entry, p.event))
	}
	return &s.Sender, nil
}

// Instance returns the sender's id: a nuid, new for every Sender.
//
//go:noinline
func (handle *Sender) Instance() string { return senderOf(handle).pub.instance }

// Send sends a message: it is SendStatus with status 0.
func (handle *Sender) Send(tag tags.Tag, data []byte) error { return handle.SendStatus(tag, 0, data) }

// SendStatus sends a message to the receiver of its tag.
//
//   - data: 0 to SenderConfig.MaxMessageBytes bytes; copied.
//   - Result: nil means accepted. The message is delivered in order, or, if the policy
//     or the end of the connection loses it, reported to the receiver as lost.
//     SendAcked returns once it is handled.
//   - Errors: ErrNoResources (the same call may succeed after OnReady),
//     *PublishError with ErrNoReceiver, ErrUnknownTag or ErrMessageTooLarge,
//     ErrClosed. After an error no receiver gets the message.
//   - Order: as Publisher.PublishStatus.
//   - Threads: any. Blocks: never.
func (handle *Sender) SendStatus(tag tags.Tag, status Status, data []byte) error {
	s := senderOf(handle)
	if err := s.pub.PublishStatus(tag, status, data); err != nil {
		return s.explain(tag, data, err)
	}
	return nil
}

// SendContext sends a message as Send does, and waits for a receiver of the tag
// and for room.
//
//   - Errors: as SendStatus without ErrNoResources; *PublishError with the cause of the
//     end of ctx, and with ErrNoReceiver if it was waiting for one. On a loop it
//     returns ErrOnLoop instead of waiting, since the loop is what makes room.
//   - Threads: any.
func (handle *Sender) SendContext(ctx context.Context, tag tags.Tag, data []byte) error {
	return handle.SendStatusContext(ctx, tag, 0, data)
}

// SendStatusContext is SendContext with a status.
//
//go:noinline
func (handle *Sender) SendStatusContext(ctx context.Context, tag tags.Tag, status Status, data []byte) error {
	s := senderOf(handle)
	return s.send(ctx, tag, wire.Status(status), data, nil)
}

func (s *senderImpl) send(ctx context.Context, tag tags.Tag, status wire.Status, data []byte, x *fanout.Receipt) error {
	for {
		changed := s.pub.nextChange() // before the try, so that no change after it is missed
		err := s.pub.publishContext(ctx, tag, status, data, x)
		switch {
		case err == nil:
			return nil
		case !errors.Is(err, ErrNoReceiver):
			return s.explain(tag, data, err)
		case s.pub.loop.OnAnyLoop():
			return ErrOnLoop
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return s.explain(tag, data, fmt.Errorf("%w: %w", ErrNoReceiver, context.Cause(ctx)))
		}
	}
}

// SendAcked sends a message as SendContext does, without the flush interval, and waits
// until the receiver's handler has returned for it.
//
//   - Errors: those of SendContext, if no receiver gets the message. *AckError, if the
//     message was accepted and not acknowledged: with ErrReceiverLost or the cause of
//     the end of ctx it may or may not have been handled; with ErrNotHandled the
//     handler panicked, or there was none any more; with ErrTooSlow, ErrPublisherMemory
//     or ErrLeftOut the receiver's policy has lost it. ErrOnLoop: nothing is sent.
//   - Threads: any.
func (handle *Sender) SendAcked(ctx context.Context, tag tags.Tag, data []byte) error {
	return handle.SendStatusAcked(ctx, tag, 0, data)
}

// SendStatusAcked is SendAcked with a status.
func (handle *Sender) SendStatusAcked(ctx context.Context, tag tags.Tag, status Status, data []byte) error {
	s := senderOf(handle)
	if s.pub.loop.OnAnyLoop() {
		return ErrOnLoop
	}
	x := fanout.NewReceipt(tag)
	if err := s.send(ctx, tag, wire.Status(status), data, x); err != nil {
		return err
	}
	if position, lost, err := x.Wait(ctx); err != nil {
		s.unacked.Add(1)
		return &AckError{Tag: tag, Counter: position, Lost: lost, Err: outcomeOf(err)}
	}
	s.acked.Add(1)
	return nil
}

// outcomeOf returns the user's error for the outcome of a receipt.
func outcomeOf(err error) error {
	switch {
	case errors.Is(err, fanout.ErrLost):
		return ErrReceiverLost
	case errors.Is(err, fanout.ErrNotHandled):
		return ErrNotHandled
	}
	return err
}

// request sends a message with the id of a request as SendContext does.
//
// Errors: those of SendContext.
func (s *senderImpl) request(ctx context.Context, id RequestID, tag tags.Tag, data []byte) error {
	mark, payload, err := s.pub.marked(id, tag, 0, data)
	if err != nil {
		return s.explain(tag, data, err)
	}
	return s.send(ctx, tag, mark, payload, nil)
}

// explain completes an error of the publishing part.
func (s *senderImpl) explain(tag tags.Tag, data []byte, err error) error {
	if refused := (*PublishError)(nil); errors.As(err, &refused) {
		refused.sender = true
		return err
	}
	if errors.Is(err, ErrNoReceiver) {
		s.unowned.Add(1)
		return &PublishError{Tag: tag, Bytes: len(data), Err: err, sender: true}
	}
	return err
}

// Flush sends messages that wait for full pages or the flush interval. Blocks: never.
func (handle *Sender) Flush() { senderOf(handle).pub.fan.Flush() }

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
	unlisted := s.listing.Load().End()
	s.directory.End()
	later, err = s.pub.close()
	if !s.pub.loop.OnAnyLoop() {
		unlisted()
	}
	return later, err
}

// listed returns the entry of the sender. Threads: any.
func (s *senderImpl) listed() (e directory.Entry, ok bool) {
	p := s.pub
	return clientEntry(directory.Entry{
		Instance: p.instance, Name: p.cfg.Name, Host: p.host, Role: directory.Sender, Backend: p.backends.Names(), Since: p.opened,
	}, *s.wants.Load(), p.cfg.Monitor), !s.ended.Load()
}
