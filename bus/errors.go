package bus

import (
	"errors"
	"fmt"
	"time"

	"tagbus/internal/plain"
	"tagbus/netio"
	"tagbus/tags"
)

var (
	// ErrNoResources is returned by the publishing methods that do not wait,
	// when a blocking subscriber of the tag, or the publisher's pool, has no
	// room. Nobody got the message; the same call may succeed after
	// PublisherConfig.OnReady, or use PublishContext, which waits.
	ErrNoResources = fmt.Errorf("bus: not published: %w", netio.ErrNoResources)

	// ErrClosed is returned by every method of a closed publisher, subscriber
	// or subscription, and by Publish after Drain.
	ErrClosed = errors.New("bus: closed")

	// ErrOnLoop is returned by the methods that wait, when they would have to:
	// called from a handler or an event they would wait for themselves for
	// ever, or, of another node, for one that waits for them. It is the same on
	// every event loop of the process.
	ErrOnLoop = errors.New("bus: cannot wait inside a callback: use the variant that does not wait, or another goroutine")

	// ErrUnknownTag is wrapped in the error of Publish for a tag that the
	// publisher does not serve: it is not one of PublisherConfig.Tags, nor of
	// AddTags, or RemoveTags has taken it away.
	ErrUnknownTag = errors.New("tag is not one of the publisher's")

	// ErrTooManyTags is returned by Publisher.AddTags when too many tags that
	// were published have been removed since: a publisher remembers all their
	// positions.
	ErrTooManyTags = errors.New("bus: publisher remembers too many tags that it has ceased to serve: open another publisher")

	// ErrMessageTooLarge is wrapped in the error of Publish for a message above
	// PublisherConfig.MaxMessageBytes.
	ErrMessageTooLarge = errors.New("message too large")

	// ErrInvalidConfig is wrapped by every violation of a configuration.
	ErrInvalidConfig = errors.New("bus: invalid configuration")

	// ErrEmptySet is returned by Subscribe for a set without tags.
	ErrEmptySet = errors.New("bus: subscription to no tags")

	// ErrHasHandler is yielded by Subscription.Messages when the subscription
	// delivers to a handler instead.
	ErrHasHandler = errors.New("bus: subscription delivers to a handler: pass a nil handler to iterate")

	// ErrRetainLimit is returned by Message.Retain when the subscriber's user has
	// retained as much as it may.
	ErrRetainLimit = errors.New("bus: subscriber retains as much memory as it may: release messages, or raise RetainBytes")

	// ErrMessageOver is returned by Message.Retain for a message that is not
	// valid any more, or was not received.
	ErrMessageOver = errors.New("bus: message is over: retain it inside its handler, or before the next step of the iteration")

	// ErrStaleEntry is the cause of a refusal by a publisher that is not the
	// instance the directory entry named.
	ErrStaleEntry = errors.New("bus: another publisher answers at this address: its directory entry is stale")

	// ErrDuplicate is the cause of a subscriber's Duplicate event.
	ErrDuplicate = errors.New("bus: two publishers serve the same tags: stop one of them, or choose one by SubscriptionConfig.Duplicates")

	// ErrNoPublisher is wrapped in the error with which a subscription ends that
	// no publisher has acknowledged within SubscriptionConfig.Timeout.
	ErrNoPublisher = errors.New("no publisher has acknowledged the subscription")

	// ErrProtocol is wrapped in the cause with which a connection is closed
	// when the peer breaks the protocol.
	ErrProtocol = errors.New("bus: protocol violation")

	// ErrTransport is wrapped in the cause with which a connection is closed
	// whose backend has broken the contract of package netio. It is a bug of the
	// backend.
	ErrTransport = errors.New("bus: the transport reported a send that was not the next to complete: report this as a bug of the backend")

	// ErrUndelivered is wrapped in the error of Drain when a connection ended
	// before everything was sent to its subscriber, or taken by the receiver.
	ErrUndelivered = errors.New("not everything was delivered")

	// ErrNoGoodbye is the cause of a publisher's Lost event, and of a sender's, when
	// the subscriber has closed the connection, or its system has, without a
	// goodbye.
	ErrNoGoodbye = errors.New("bus: the peer ended the connection without goodbye: it was killed, or has failed")

	// ErrConnectionLost is the cause of a Gap: the messages were published while
	// the connection was down.
	ErrConnectionLost = errors.New("bus: published while the connection was lost")

	// ErrTooSlow is the cause of a Gap that the subscription's policy has made:
	// it was slower than the publisher and held all that it may.
	ErrTooSlow = errors.New("bus: subscription too slow: read faster, raise SubscriptionConfig.BacklogBytes or choose another policy")

	// ErrPublisherMemory is the cause of a Gap of a subscription that may lose
	// messages, when all of these together held as much of the publisher's
	// memory as they may.
	ErrPublisherMemory = errors.New("bus: slow subscriptions took too much of the publisher's memory: raise PublisherConfig.PoolBytes")

	// ErrQueueFull is the cause of a Gap of a subscription without handler whose
	// policy may lose messages: they were received, and its own queue was full. Such
	// events come once a second.
	ErrQueueFull = errors.New("bus: the subscription's own queue is full: read Messages faster, or raise SubscriberConfig.QueueBytes")

	// ErrEventsDropped is matched by an *EventsDroppedError.
	ErrEventsDropped = errors.New("bus: too many events wait for OnEvent, the newest were dropped")

	// ErrLeftOut is the cause of a Gap that the policies Latest and Sample make
	// on purpose. Such events come once a second.
	ErrLeftOut = errors.New("bus: left out by the subscription's policy")

	// ErrTooManyPolicies is returned by Subscribe when the subscriptions of a
	// Subscriber have more than 16 different policies and backlogs.
	ErrTooManyPolicies = errors.New("bus: more than 16 different policies and backlogs in one subscriber")

	// ErrSubscriberBytes is the cause of a refusal: the subscriptions of one
	// subscriber would hold more than PublisherConfig.SubscriberBytes.
	ErrSubscriberBytes = errors.New("bus: the subscriptions of this subscriber ask for more memory than the publisher allows")

	// ErrPolicyRefused is the cause of a refusal: PublisherConfig.Policies does
	// not have the policy that the subscription asks for.
	ErrPolicyRefused = errors.New("bus: the publisher does not allow this policy")

	// ErrPublisherEnded is the cause of a Gap that shows only when the
	// publisher tells the final positions, at its end or when it ceases to
	// serve the tag.
	ErrPublisherEnded = errors.New("bus: missing when the publisher ended, or ceased to serve the tag")

	// ErrSilent is wrapped in the cause of a Lost event, a *SilentError, when
	// nothing was heard of the peer for longer than the heartbeats allow.
	ErrSilent = errors.New("bus: nothing heard of the peer")

	// ErrStalled is wrapped in the cause of a publisher's Lost event, and in that
	// of Stalled, a *StallError, when the subscriber took nothing for too long.
	ErrStalled = errors.New("bus: subscriber takes nothing")

	// ErrNoReceiver is wrapped in the error of Send when no receiver that is
	// connected owns the tag. The first Send to a tag only begins to connect:
	// name the tags in SenderConfig.Tags, or use SendContext or WaitReceivers,
	// which wait.
	ErrNoReceiver = errors.New("no receiver of the tag is connected")

	// ErrReceiverLost is wrapped in an *AckError when the connection to the
	// receiver ended before the acknowledgement came.
	ErrReceiverLost = errors.New("connection to the receiver lost")

	// ErrNotHandled is wrapped in an *AckError when the receiver says that its
	// handler has panicked, or that it had none any more.
	ErrNotHandled = errors.New("the receiver's handler has not handled it")

	// ErrNoReply is matched by a *NoReplyError.
	ErrNoReply = errors.New("no reply")

	// ErrReplaced is the cause with which a receiver closes a sender's connection
	// when the same sender has dialed again: it had lost that one.
	ErrReplaced = errors.New("bus: the sender has lost this connection and dials again")

	// ErrHelloTimeout is the cause with which a connection is closed whose
	// peer did not say hello in time.
	ErrHelloTimeout = errors.New("bus: peer did not say hello in time")

	// ErrNoSubscription is the cause with which a publisher closes a connection that
	// has had no subscription for PublisherConfig.SubscribeTimeout.
	ErrNoSubscription = errors.New("bus: peer has asked for nothing in time")

	// ErrGroupTimeout is the cause with which a publisher closes a connection when a
	// group of subscriptions has not come whole within
	// PublisherConfig.SubscribeTimeout.
	ErrGroupTimeout = errors.New("bus: the rest of a group of subscriptions did not come in time")

	// ErrGroupMemory is wrapped in the cause with which a publisher closes the
	// connection whose group of subscriptions has been incomplete for longest, when
	// all that are incomplete take too much memory.
	ErrGroupMemory = errors.New("bus: incomplete groups of subscriptions take too much memory of the publisher")

	// ErrAccountMemory is wrapped in the cause with which a publisher closes the
	// connection of the subscriber whose account of lost messages is largest, when
	// those of all subscribers take too much memory.
	ErrAccountMemory = errors.New("bus: the accounts of what subscribers have lost take too much memory of the publisher")

	// ErrEntryTooLarge is wrapped in an *EntryLimitError: a set of tags has more ranges
	// or masks than a directory entry may have.
	ErrEntryTooLarge = errors.New("bus: directory entry with too many tags")

	// ErrGaveWay is wrapped in the cause with which a connection is closed that has
	// asked for nothing, when another one wanted its place.
	ErrGaveWay = errors.New("bus: a connection that asks for nothing gave way to another one")

	// ErrTooManySubscribers is wrapped in the cause of a refusal by a publisher that
	// has as many subscribers as it allows, in all or of one address.
	ErrTooManySubscribers = errors.New("bus: publisher has too many subscribers")

	// ErrTooManySenders is wrapped in the cause of a refusal by a receiver that has as
	// many senders as it allows, in all or of one address.
	ErrTooManySenders = errors.New("bus: receiver has too many senders")
)

// PublishError says which message was not published or sent, and why.
type PublishError struct {
	Tag   tags.Tag
	Bytes int // size of the message
	Limit int // for ErrMessageTooLarge: the largest possible
	Err   error

	sender bool // it was one that refused
}

// Error names the tag, the cause and what to change.
func (e *PublishError) Error() string {
	do, cfg := "publish", "PublisherConfig"
	if e.sender {
		do, cfg = "send", "SenderConfig"
	}
	switch {
	case errors.Is(e.Err, ErrMessageTooLarge):
		return plain.Linef("bus: %s %v: %v: %d bytes, limit %d: raise %s.MaxMessageBytes", do, e.Tag, e.Err, e.Bytes, e.Limit, cfg)
	case errors.Is(e.Err, ErrUnknownTag):
		return plain.Linef("bus: %s %v: %v: add it to %s.Tags", do, e.Tag, e.Err, cfg)
	case errors.Is(e.Err, ErrNoReceiver):
		return plain.Linef("bus: %s %v: %v: start a Receiver that owns it, and wait for that with SendContext or WaitReceivers", do, e.Tag, e.Err)
	default:
		return plain.Linef("bus: %s %v: %v", do, e.Tag, e.Err)
	}
}

// Unwrap returns the cause.
func (e *PublishError) Unwrap() error { return e.Err }

// AckError says that a message was accepted by SendAcked, and that the receiver
// has not acknowledged it.
type AckError struct {
	Tag     tags.Tag
	Counter uint64 // of the message, as the receiver sees it
	Lost    bool   // it is surely not going to be handled; otherwise nobody knows, as with all that a sender with a cache has accepted
	Err     error
}

// Error names the message, the cause, and what is known.
func (e *AckError) Error() string {
	known := "it may or may not have been handled"
	if e.Lost {
		known = "it has not been handled"
	}
	return plain.Linef("bus: send %v: message %d is not acknowledged: %v: %s", e.Tag, e.Counter, e.Err, known)
}

// Unwrap returns the cause.
func (e *AckError) Unwrap() error { return e.Err }

// NoReplyError says that a command was sent and that nothing has answered it.
type NoReplyError struct {
	Command, Reply tags.Tag
	After          time.Duration // how long the request took, with the waiting before it was sent
	Err            error         // what ended it
}

// Error names the tags and the time.
func (e *NoReplyError) Error() string {
	return plain.Linef("bus: request to %v: %v on %v after %v: %v: the command may or may not have been carried out",
		e.Command, ErrNoReply, e.Reply, e.After.Round(time.Millisecond), e.Err)
}

// Is tells that e is an ErrNoReply.
func (*NoReplyError) Is(target error) bool { return target == ErrNoReply }

// Unwrap returns what ended the request.
func (e *NoReplyError) Unwrap() error { return e.Err }

// DuplicateError is the cause of a sender's Duplicate event: two receivers own the
// same tags.
type DuplicateError struct {
	Tags   tags.Set // that both own
	First  *Peer    // which is connected and gets the messages
	Second *Peer    // which gets none, not of its other tags either
}

// Error names the tags and both receivers.
func (e *DuplicateError) Error() string {
	return plain.Linef("bus: tags %s have two receivers: %v gets the messages, %v none: give each tag one receiver",
		shortSet(e.Tags), e.First, e.Second)
}

// NoPublisherError ends a subscription that no publisher has acknowledged in
// time. It wraps ErrNoPublisher.
type NoPublisherError struct {
	Tags   tags.Set
	Waited time.Duration // SubscriptionConfig.Timeout
	Err    error         // why a publisher refused the subscription; nil if none did
}

// Error names the tags, the time, the refusal if there was one, and what to do.
func (e *NoPublisherError) Error() string {
	if e.Err != nil {
		return plain.Linef("bus: subscribe to %s: %v within %v: refused: %v", shortSet(e.Tags), ErrNoPublisher, e.Waited, e.Err)
	}
	return plain.Linef("bus: subscribe to %s: %v within %v: start one that serves these tags, look whether both use the same directory, or raise SubscriptionConfig.Timeout",
		shortSet(e.Tags), ErrNoPublisher, e.Waited)
}

// Unwrap returns ErrNoPublisher and the refusal.
func (e *NoPublisherError) Unwrap() []error {
	if e.Err == nil {
		return []error{ErrNoPublisher}
	}
	return []error{ErrNoPublisher, e.Err}
}

// UnconfirmedError is the cause of a publisher's Lost event for a subscriber
// whose connection has ended with messages of which it has not said what became
// of them. Should it come back, it tells, and they are sent or lost
// (LaneState).
type UnconfirmedError struct {
	Messages uint64
	Err      error // why the connection ended; nil if the subscriber said goodbye
}

// Error names the number and the cause.
func (e *UnconfirmedError) Error() string {
	s := fmt.Sprintf("bus: %d messages unconfirmed", e.Messages)
	if e.Err != nil {
		s += ": " + plain.Error(e.Err)
	}
	return s
}

// Unwrap returns the cause.
func (e *UnconfirmedError) Unwrap() error { return e.Err }

// SilentError says for how long nothing was heard of a peer whose connection
// was closed for it.
type SilentError struct {
	For   time.Duration // to within a tick, rounded down
	Limit time.Duration // HeartbeatTimeout, or three of the peer's intervals if that is longer
}

// Error names the time and what to do.
func (e *SilentError) Error() string {
	return plain.Linef("%v for %v, limit %v: it is stopped, or its host or the network is down; raise HeartbeatTimeout if it may be silent for longer",
		ErrSilent, e.For.Round(time.Millisecond), e.Limit)
}

// Unwrap returns ErrSilent.
func (*SilentError) Unwrap() error { return ErrSilent }

// StallError says for how long a subscriber has taken none of the messages that
// wait for it.
type StallError struct {
	For   time.Duration // to within a tick, rounded down
	Limit time.Duration // that was exceeded; 0: the publisher goes on waiting
}

// Error names the time and what to do.
func (e *StallError) Error() string {
	if e.Limit == 0 {
		return plain.Linef("%v for %v, and the publisher waits for it: look what it waits for, or set PublisherConfig.MaxStall",
			ErrStalled, e.For.Round(time.Millisecond))
	}
	return plain.Linef("%v for %v, limit %v: make it faster, or raise the time of its policy or PublisherConfig.MaxStall",
		ErrStalled, e.For.Round(time.Millisecond), e.Limit)
}

// Unwrap returns ErrStalled.
func (*StallError) Unwrap() error { return ErrStalled }

// PageError says why a page could not be read.
type PageError struct {
	Offset int // byte within the page
	Reason string
}

// Error names the place and the reason.
func (e *PageError) Error() string {
	return plain.Linef("bus: damaged page at byte %d: %s", e.Offset, e.Reason)
}

// Unwrap returns ErrProtocol.
func (*PageError) Unwrap() error { return ErrProtocol }
