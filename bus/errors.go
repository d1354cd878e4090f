package bus

import (
	"errors"
	"fmt"

	"tagbus/netio"
)

var (
	// ErrNoResources is returned by the publishing methods that do not wait,
	// when a blocking subscriber of the tag, or the publisher's pool, has no
	// room. No subscriber gets the message. The same call may succeed after
	// PublisherConfig.OnReady; PublishContext waits instead.
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

	// ErrTooManyRemoved is returned by Publisher.AddTags when too many tags that
	// were published have been removed since: a publisher remembers all their
	// positions.
	ErrTooManyRemoved = errors.New("bus: publisher remembers too many tags that it has ceased to serve: open another publisher")

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
