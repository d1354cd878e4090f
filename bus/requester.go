// SPDX-License-Identifier: Apache-2.0

package bus

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"tagbus/internal/check"
	"tagbus/tags"
)

// defaultRequestTimeout is RequesterConfig.Timeout unless set.
const defaultRequestTimeout = 5 * time.Second

// RequesterConfig says how a Requester works. Command and Reply have no default.
type RequesterConfig struct {
	// Command is the tag to which commands are sent; a Receiver owns it.
	Command tags.Tag

	// Reply is the tag on which replies are published.
	Reply tags.Tag

	// Timeout bounds each Request, with all its waiting. An earlier deadline of the
	// context takes precedence. Default 5 s.
	Timeout time.Duration

	// Match reports whether a reply answers a command. It is called on the subscriber's
	// loop, for the oldest unanswered command first. It must not block or change the
	// bytes. With it any number of requests may be unanswered at the same time, and a
	// late reply is never mistaken for that of another request.
	//
	// Default: none. Then the first reply after a command answers it. A command e-link
	// and its reply e-link can do no more, since the detector does not know of our
	// requests. One request is unanswered at a time; later ones wait their turn. A
	// reply that comes after the end of its request counts as late. If the next request
	// has begun meanwhile, the late reply is taken for its answer. So after an error,
	// either be sure that no reply is still to come, or compare each reply with its
	// command.
	Match func(command []byte, reply Message) bool
}

// Validate reports all violations of c, joined; each wraps ErrInvalidConfig
// and names the field, its value and its limit.
func (c RequesterConfig) Validate() error {
	v := check.Violations{Kind: ErrInvalidConfig}
	v.Positive("Timeout", c.Timeout)
	return v.Err()
}

// Requester sends commands through a Sender and waits for the replies that come
// through a Subscriber.
//
// Threads: all methods may be called from any goroutine, and from callbacks
// unless they block.
type Requester struct {
	cfg    RequesterConfig
	sender *Sender
	sub    *Subscription
	turn   chan struct{} // full while a request is unanswered; without Match

	mu      sync.Mutex
	waiting []*exchange // oldest first

	requests, replies, late atomic.Uint64
}

// exchange is a command without a reply.
type exchange struct {
	command []byte
	reply   chan Message // capacity 1; sent to when it is taken out of waiting
}

// NewRequester subscribes to the reply tag. Close it; the caller keeps the sender and
// the subscriber.
//
// Errors: ErrInvalidConfig, joined violations; those of Subscriber.Subscribe.
func NewRequester(sender *Sender, subscriber *Subscriber, cfg RequesterConfig) (*Requester, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	check.Default(&cfg.Timeout, defaultRequestTimeout)
	r := &Requester{cfg: cfg, sender: sender, turn: make(chan struct{}, 1)}
	var err error
	if r.sub, err = subscriber.Subscribe(tags.Of(cfg.Reply), r.onReply); err != nil {
		return nil, err
	}
	return r, nil
}

// Request sends a command and returns the reply. Its Data belongs to the caller.
//
//   - command: as in Send; it must not be changed before Request returns.
//   - Errors: *NoReplyError, if the command was sent and no reply came in time. Before
//     it is sent: those of Sender.SendContext, and of Subscription.Wait for the reply
//     tag; the cause of the end of ctx, wrapped, if another request had its turn until
//     then. ErrClosed; ErrOnLoop.
//   - Blocks: until the reply comes, at most for RequesterConfig.Timeout.
//   - Threads: any.
func (r *Requester) Request(ctx context.Context, command []byte) (Message, error) {
	if r.sub.owner.loop.OnAnyLoop() {
		return Message{}, ErrOnLoop
	}
	if r.sub.closed.Load() {
		return Message{}, ErrClosed
	}
	began := time.Now()
	ctx, cancel := context.WithTimeout(ctx, r.cfg.Timeout)
	defer cancel()
	if err := r.sub.Wait(ctx); err != nil { // else the reply could pass unseen
		return Message{}, err
	}
	if r.cfg.Match == nil {
		select {
		case r.turn <- struct{}{}:
			defer func() { <-r.turn }()
		case <-ctx.Done():
			return Message{}, fmt.Errorf("bus: request to %v: another one waits for its reply: %w", r.cfg.Command, context.Cause(ctx))
		}
	}
	q := &exchange{command: command, reply: make(chan Message, 1)}
	r.mu.Lock()
	r.waiting = append(r.waiting, q) // before it is sent: the reply may be quick
	r.mu.Unlock()
	if err := r.sender.SendContext(ctx, r.cfg.Command, command); err != nil {
		r.take(q)
		return Message{}, err
	}
	r.sender.Flush()
	r.requests.Add(1)
	var cause error
	select {
	case m := <-q.reply:
		return m, nil
	case <-r.sub.ended:
		cause = ErrClosed
	case <-ctx.Done():
		cause = context.Cause(ctx)
	}
	if !r.take(q) { // it came at the last moment
		return <-q.reply, nil
	}
	return Message{}, &NoReplyError{Command: r.cfg.Command, Reply: r.cfg.Reply, After: time.Since(began), Err: cause}
}

// take takes a request out of the waiting ones. It returns false if that has happened
// before, so that the reply is there.
func (r *Requester) take(q *exchange) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	i := slices.Index(r.waiting, q)
	if i < 0 {
		return false
	}
	r.waiting = slices.Delete(r.waiting, i, i+1)
	return true
}

// onReply finds the request that a reply answers. Loop only.
func (r *Requester) onReply(m Message) {
	r.mu.Lock()
	waiting := r.waiting
	if r.cfg.Match != nil {
		waiting = slices.Clone(waiting) // Match runs under no lock
	} else if len(waiting) > 1 {
		waiting = waiting[:1]
	}
	r.mu.Unlock()
	for _, q := range waiting {
		if r.cfg.Match != nil && !r.cfg.Match(q.command, m) || !r.take(q) {
			continue
		}
		m.Data = slices.Clone(m.Data)
		r.replies.Add(1) // before the caller of Request can look
		q.reply <- m
		return
	}
	r.late.Add(1)
}

// RequesterStats counts what a requester has done.
type RequesterStats struct {
	Requests uint64 // commands sent
	Replies  uint64 // that answered one
	Late     uint64 // replies that answered none: late, or not asked for
	Waiting  int    // requests without reply now
}

// Stats returns the requester's counters. Threads: any.
func (r *Requester) Stats() RequesterStats {
	r.mu.Lock()
	defer r.mu.Unlock()
	return RequesterStats{Requests: r.requests.Load(), Replies: r.replies.Load(), Late: r.late.Load(), Waiting: len(r.waiting)}
}

// Close ends the subscription to the replies and the requests that wait for one.
// The second call returns ErrClosed. Blocks: never.
func (r *Requester) Close() error { return r.sub.Close() }
