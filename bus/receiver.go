// SPDX-License-Identifier: Apache-2.0

package bus

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"net/netip"
	"sync/atomic"

	"tagbus/acl"
	"tagbus/bus/directory"
	"tagbus/bus/internal/admission"
	"tagbus/bus/internal/door"
	"tagbus/bus/internal/reception"
	"tagbus/netio"
	"tagbus/subscription"
	"tagbus/tags"
)

// Receiver receives the messages that Senders send to its tags: the direction to the
// detector. It listens and announces its tags in the directory. On each connection it
// acts as a Subscriber: it subscribes to its tags, counts per sender and tag, and
// reports losses.
//
// Threads: all methods may be called from any goroutine, and from callbacks
// unless they block. The handler and events run on the loop.
type Receiver struct {
	is any // a *receiverImpl
}

// receiverOf returns what a Receiver is, as publisherOf does.
func receiverOf(handle *Receiver) *receiverImpl { return handle.is.(*receiverImpl) }

// receiverImpl is what a Receiver is.
type receiverImpl struct {
	Receiver // as its user has it

	cfg      ReceiverConfig
	sub      *subscriberImpl // which counts and delivers
	in       *subscriptionImpl
	draining atomic.Bool

	// Loop only.
	seats   admission.Seats[netio.Endpoint] // of senders
	left    chan struct{}                   // closed when the last sender has gone after Drain
	leaving bool                            // left waits for that
	cutOff  int                             // connections that ended out of order meanwhile; written before left is closed
}

// NewReceiver opens a receiver: it listens for senders and announces its tags in
// dir. Close it.
//
//   - open: the transport, for example tcp.Opener(loop, tcp.Config{}).
//   - h: called for each message, on the loop; it must not block. Message.Publisher
//     is the sender. A nil handler queues the messages for Messages.
//   - Errors: ErrInvalidConfig, joined violations; *AccessError if its own policy does not
//     let it receive the tags; subscription.ErrTooManyTags, wrapped; *netio.OpError when it cannot listen; the directory's.
//   - Blocks: for the directory's storage.
func NewReceiver(open netio.Opener, dir directory.Directory, cfg ReceiverConfig, h Handler) (*Receiver, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	cfg = cfg.withDefaults()
	r := &receiverImpl{cfg: cfg, sub: newSubscriber(cfg.subscriber().withDefaults(), subscription.RoleReceiver), left: make(chan struct{})}
	r.is = r
	if err := self(cfg.Access, acl.Receive, cfg.Tags); err != nil {
		return nil, err
	}
	err := r.sub.start(open, receiverHandler{subscriberHandler{r.sub}, r})
	if err != nil {
		return nil, err
	}
	r.sub.receive(reception.Config{Action: acl.Send, Most: cfg.MaxSenders, Enter: r.enter, Ended: r.ended, Describe: r.State})
	r.in, err = r.sub.subscribe(cfg.Tags, handlers{each: h, pages: cfg.Pages}, cfg.Subscription) // before a sender can connect
	if err == nil {
		err = r.serve(dir)
	}
	if err != nil {
		return nil, errors.Join(err, r.Close())
	}
	return &r.Receiver, nil
}

// serve listens, and announces that in dir.
func (r *receiverImpl) serve(dir directory.Directory) error {
	s := r.sub
	params := netio.Params{
		Receive:  netio.ReceiveParams{MaxMessageBytes: s.cfg.MaxMessageBytes, FirstMessageBytes: subscription.MaxHelloBytes},
		Buffered: netio.BufferedParams{Buffers: subscribeBuffers, BufferBytes: subscription.MaxControlBytes},
	}
	return s.listen(dir, &r.cfg.Listening, params, directory.Entry{
		Role: directory.Receiver, Tags: r.cfg.Tags, PageBytes: s.cfg.MaxMessageBytes, MaxMessageBytes: s.cfg.MaxMessageBytes, Since: s.opened,
	})
}

// Addr returns the address on which the receiver listens, with the real port.
//
//go:noinline
func (handle *Receiver) Addr() netip.AddrPort { return receiverOf(handle).sub.addr() }

// Instance returns the receiver's id: a nuid, new for every Receiver.
//
//go:noinline
func (handle *Receiver) Instance() string { return receiverOf(handle).sub.own.Instance }

// Tags returns the set that the receiver owns.
//
//go:noinline
func (handle *Receiver) Tags() tags.Set { return receiverOf(handle).cfg.Tags }

// Messages iterates over the messages of a receiver without handler; see
// Subscription.Messages. To its senders, a message is handled when it is in the
// queue.
//
//go:noinline
func (handle *Receiver) Messages(ctx context.Context) iter.Seq2[Message, error] {
	return receiverOf(handle).in.Messages(ctx)
}

// Subscription returns what a receiver has of its senders: for Batches, TakeBatch and
// NotifyBatches of one whose Subscription keeps batches, and for Pause. It ends with the receiver.
//
//go:noinline
func (handle *Receiver) Subscription() *Subscription { return receiverOf(handle).in.handle() }

// Stats returns the receiver's counters, correct to the page. Publishers counts the
// connected senders.
//
//go:noinline
func (handle *Receiver) Stats() SubscriberStats { return receiverOf(handle).sub.Stats() }

// TagStats returns what was received of each tag; see Subscriber.TagStats. Its
// Publishers are the senders.
//
//go:noinline
func (handle *Receiver) TagStats(ctx context.Context) ([]TagStats, error) {
	return receiverOf(handle).sub.TagStats(ctx)
}

// Drain ends the receiver in order. It leaves the directory, asks its senders to send
// no more, takes what is on its way, and lets them go. A Close after it loses nothing. A sender
// whose connection was lost before, as the event Lost has said, is not waited for: it counts
// what it had accepted as lost or unconfirmed.
//
//   - Errors: ErrClosed if the receiver is draining or closed, or is closed
//     meanwhile; ErrOnLoop; the directory's; ErrUndelivered, wrapped, if
//     connections ended before everything was taken; the cause of the end of ctx,
//     when some senders, or the directory, had not answered.
//   - Threads: any.
func (handle *Receiver) Drain(ctx context.Context) error {
	r := receiverOf(handle)
	if r.sub.loop.OnAnyLoop() {
		return ErrOnLoop
	}
	if r.draining.Swap(true) {
		return ErrClosed
	}
	r.sub.entry.Withdraw()
	if !r.sub.loop.Post(func() {
		r.leaving = true
		r.sub.desk.Observers.Dismiss()
		r.sub.retire(r.in)
		r.noteLeft()
	}) {
		return errors.Join(ErrClosed, r.sub.entry.Wait(ctx))
	}
	err := r.awaitLeft(ctx)
	return errors.Join(r.sub.entry.Wait(ctx), err)
}

// awaitLeft waits until all senders have left.
//
// Errors: as Drain.
func (r *receiverImpl) awaitLeft(ctx context.Context) error {
	select {
	case <-r.left:
		if r.cutOff > 0 {
			return fmt.Errorf("bus: drain: %w: connections that ended before: %d", ErrUndelivered, r.cutOff)
		}
		return nil
	case <-r.sub.closer.Ended():
		return ErrClosed
	case <-ctx.Done():
		return fmt.Errorf("bus: drain: senders that have not left: %d: %w", r.sub.Stats().Publishers, context.Cause(ctx))
	}
}

// noteLeft ends the wait of Drain if no sender is connected. Loop only.
func (r *receiverImpl) noteLeft() {
	if r.leaving && r.sub.counters.publishers.Load() == 0 {
		r.leaving = false
		close(r.left)
	}
}

// Close ends the receiver at once: it leaves the directory and closes every
// connection. The second call does nothing.
//
//   - Errors: the directory's, when the entry could not be removed.
//   - Blocks: for the directory's storage, some seconds at most, and until the last callback
//     has run. From inside a callback, of any node, it returns at once, without the errors of
//     the directory, and on its own loop the handler is not called after that callback.
//
//go:noinline
func (handle *Receiver) Close() error {
	r := receiverOf(handle)
	return r.sub.closer.Close(r.sub.backend, r.close)
}

func (r *receiverImpl) close() (later bool, err error) {
	r.draining.Store(true)
	r.sub.desk.Observers.End()
	r.sub.entry.Withdraw()
	later, fault := r.sub.close()
	if r.sub.loop.OnAnyLoop() {
		return later, fault // the withdrawal goes on by itself
	}
	r.sub.desk.Observers.Wait()
	return later, errors.Join(r.sub.entry.Wait(context.Background()), fault)
}

// receiverHandler is a Receiver as its backend sees it: a subscriber that is dialed. Every
// method runs on the loop.
type receiverHandler struct {
	subscriberHandler // for what does not depend on which side dials
	r                 *receiverImpl
}

// OnConnectionEstablished implements netio.Handler.
func (h receiverHandler) OnConnectionEstablished(ep netio.Endpoint) { h.r.sub.desk.Greet(ep) }

// OnConnectionRefused implements netio.Handler. A receiver does not dial.
func (receiverHandler) OnConnectionRefused(netip.AddrPort, error) {}

// OnConnectionClosed implements netio.Handler.
func (h receiverHandler) OnConnectionClosed(ep netio.Endpoint, keys []netio.Key, cause error) {
	h.r.seats.Leave(ep)
	if src, ok := ep.Context().(*source); ok && h.r.leaving && !src.out.Leaving() {
		h.r.cutOff++
	}
	h.subscriberHandler.OnConnectionClosed(ep, keys, cause)
	h.r.noteLeft()
}

// ended returns ErrClosed if the receiver drains or is closed, and otherwise nil.
func (r *receiverImpl) ended() error {
	if r.draining.Load() {
		return ErrClosed
	}
	return nil
}

// enter makes a guest a sender, or returns why not.
func (r *receiverImpl) enter(g *reception.Guest) error {
	h := &g.Hello
	src := r.sub.sources[h.Instance]
	switch {
	case h.Role != subscription.RoleSender:
		return fmt.Errorf("%w: this is a receiver, which takes connections of senders", ErrProtocol)
	case h.MaxMessageBytes < subscription.MaxControlBytes:
		return fmt.Errorf("%w: sender receives at most %d bytes at once, want %d", ErrProtocol, h.MaxMessageBytes, subscription.MaxControlBytes)
	case src != nil && !door.Same(src.rights.Peer(), g.Who.Identity()):
		return errTakenInstance
	case r.draining.Load():
		return ErrClosed
	case src != nil && src.contact.Ep != nil:
		// The sender has lost a connection that is still open here. Its next try
		// succeeds once that connection has ended here too.
		src.fail(ErrReplaced)
		return ErrReplaced
	}
	if err := r.makeRoom(g.Ep); err != nil {
		return err
	}
	r.sub.accept(g.Ep, *h, g.Who.Identity())
	return nil
}

// makeRoom takes a place for a sender. One that has sent nothing may give way.
//
// Errors: ErrTooManySenders, wrapped.
func (r *receiverImpl) makeRoom(ep netio.Endpoint) error {
	limits := admission.Limits{All: r.cfg.MaxSenders, Host: shareOfHost(r.cfg.MaxSenders)}
	way, gaveWay, full := r.seats.Take(ep, ep.Remote().Addr().Unmap(), limits, nil, func(ep netio.Endpoint) bool {
		src := ep.Context().(*source)
		return src.fault == nil && !src.spoken
	})
	if full != nil {
		return tooMany(ErrTooManySenders, full, "ReceiverConfig.MaxSenders")
	}
	r.seats.Idle(ep)
	if gaveWay {
		way.Context().(*source).fail(ErrGaveWay)
	}
	return nil
}
