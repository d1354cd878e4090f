// SPDX-License-Identifier: Apache-2.0

package bus

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"tagbus/bus/internal/pending"
	"tagbus/bus/internal/wire"
	"tagbus/internal/validate"
	"tagbus/tags"
)

// Defaults and limits of RequesterConfig.
const (
	defaultRequestTimeout = 5 * time.Second
	defaultMaxWaiting     = 1024
	maxMaxWaiting         = 1 << 16
)

// RequesterConfig says how a Requester works. Command and Reply have no default.
type RequesterConfig struct {
	// Command is the tag to which commands are sent; a Receiver owns it.
	Command tags.Tag

	// Reply is the tag on which replies are published.
	Reply tags.Tag

	// Timeout bounds each Request, with all its waiting. An earlier deadline of the
	// context takes precedence. Default 5 s.
	Timeout time.Duration

	// MaxWaiting is how many requests may wait for their replies at a time. Default 1,024,
	// at most 65,536.
	MaxWaiting int

	// Match is for devices that cannot give the id of a request back, for example hardware
	// that knows nothing of ids. It reports whether a reply without id answers a command.
	// It is called on the subscriber's loop, for the oldest command without reply first,
	// and must not block or change the bytes. It sees replies to the commands of other
	// requesters, too, and late ones: it must know them by their bytes.
	//
	// Default: none. A reply without id answers no request, and is counted.
	Match func(command []byte, reply Message) bool
}

func (c RequesterConfig) withDefaults() RequesterConfig {
	validate.Default(&c.Timeout, defaultRequestTimeout)
	validate.Default(&c.MaxWaiting, defaultMaxWaiting)
	return c
}

// Validate reports all violations of c, joined; each wraps ErrInvalidConfig
// and names the field, its value and its limit.
func (c RequesterConfig) Validate() error {
	c = c.withDefaults()
	v := validate.Violations{Kind: ErrInvalidConfig}
	v.Positive("Timeout", c.Timeout)
	validate.Within(&v, "MaxWaiting", c.MaxWaiting, 1, maxMaxWaiting)
	return v.Err()
}

// Requester sends commands through a Sender and waits for the replies that come
// through a Subscriber. Each command carries a [RequestID], and the reply that carries the
// same one answers it: the device gives it back by [Publisher.Reply]. So any number of
// requests, and of requesters of one device, may wait at the same time. A reply that is
// late, comes twice, or is for another requester answers none, and is counted.
//
// Threads: all methods may be called from any goroutine, and from callbacks
// unless they block.
type Requester struct {
	cfg      RequesterConfig
	sender   *Sender
	sub      *Subscription
	book     any // a *pending.Book[Message], as publisherOf says
	requests atomic.Uint64
}

// bookOf returns the book of r.
func bookOf(r *Requester) *pending.Book[Message] { return r.book.(*pending.Book[Message]) }

// NewRequester subscribes to the reply tag. Close it; the caller keeps the sender and
// the subscriber.
//
// Errors: ErrInvalidConfig, joined violations; those of Subscriber.Subscribe.
func NewRequester(sender *Sender, subscriber *Subscriber, cfg RequesterConfig) (*Requester, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	cfg = cfg.withDefaults()
	r := &Requester{cfg: cfg, sender: sender, book: pending.New[Message](cfg.MaxWaiting)}
	var err error
	if r.sub, err = subscriber.Subscribe(tags.Of(cfg.Reply), r.onReply); err != nil {
		return nil, err
	}
	return r, nil
}

// Request sends a command and returns the reply. Its Data belongs to the caller.
//
//   - command: 0 to SenderConfig.MaxMessageBytes - 17 bytes, as in Send; it must not be
//     changed before Request returns. A second Request with the same bytes is another
//     request: it never gets a reply to the first.
//   - Errors: *NoReplyError, if the command was sent and no reply came in time. Before
//     it is sent: those of Sender.SendContext, and of Subscription.Wait for the reply
//     tag; ErrTooManyRequests, wrapped; ErrClosed; ErrOnLoop.
//   - Blocks: until the reply comes, at most for RequesterConfig.Timeout.
//   - Threads: any.
func (r *Requester) Request(ctx context.Context, command []byte) (Message, error) {
	if subscriptionOf(r.sub).owner.loop.OnAnyLoop() {
		return Message{}, ErrOnLoop
	}
	if subscriptionOf(r.sub).closed.Load() {
		return Message{}, ErrClosed
	}
	began := time.Now()
	ctx, cancel := context.WithTimeout(ctx, r.cfg.Timeout)
	defer cancel()
	if err := r.sub.Wait(ctx); err != nil { // else the reply could pass unseen
		return Message{}, err
	}
	before, _ := bookOf(r).Counts()
	q, err := bookOf(r).Begin(command)
	if err != nil {
		return Message{}, fmt.Errorf("bus: request to %v: %w: %d wait: wait for replies, or raise RequesterConfig.MaxWaiting",
			r.cfg.Command, ErrTooManyRequests, r.cfg.MaxWaiting)
	}
	if err := senderOf(r.sender).request(ctx, RequestID{wire.ID(q.ID)}, r.cfg.Command, command); err != nil {
		bookOf(r).Cancel(q)
		return Message{}, err
	}
	r.sender.Flush()
	r.requests.Add(1)
	m, cause := bookOf(r).Await(ctx, q, r.sub.Ended())
	switch {
	case cause == nil:
		return m, nil
	case errors.Is(cause, pending.ErrEnded):
		cause = ErrClosed
	}
	after, _ := bookOf(r).Counts()
	return Message{}, &NoReplyError{
		Command: r.cfg.Command, Reply: r.cfg.Reply, After: time.Since(began), WithoutID: after.WithoutID - before.WithoutID, Err: cause,
	}
}

// onReply finds the request that a reply answers. Loop only.
func (r *Requester) onReply(m Message) {
	own := func() Message {
		m.Data = slices.Clone(m.Data)
		return m
	}
	if id := m.RequestID(); id != (RequestID{}) {
		bookOf(r).Answer(pending.ID(id.id), own)
		return
	}
	var answers func([]byte) bool
	if r.cfg.Match != nil {
		answers = func(command []byte) bool { return r.cfg.Match(command, m) }
	}
	bookOf(r).Match(answers, own)
}

// RequesterStats counts what a requester has done, and the messages on its reply tag.
type RequesterStats struct {
	Requests   uint64 // commands sent
	Replies    uint64 // that answered one
	Late       uint64 // the first replies to requests that had ended without
	Duplicates uint64 // further replies to a request: of the newest 4,096; older ones count as late
	Others     uint64 // replies to requests that this requester has not made: those of others
	WithoutID  uint64 // messages without the id of a request that answered none
	Waiting    int    // requests without reply now
}

// Stats returns the requester's counters. Threads: any.
func (r *Requester) Stats() RequesterStats {
	c, waiting := bookOf(r).Counts()
	return RequesterStats{
		Requests: r.requests.Load(), Replies: c.Replies, Late: c.Late, Duplicates: c.Duplicates, Others: c.Others,
		WithoutID: c.WithoutID, Waiting: waiting,
	}
}

// Close ends the subscription to the replies and the requests that wait for one.
// The second call returns ErrClosed. Blocks: never.
func (r *Requester) Close() error { return r.sub.Close() }
