// SPDX-License-Identifier: Apache-2.0

package bus

import (
	"errors"
	"fmt"

	"tagbus/bus/internal/fanout"
	"tagbus/bus/internal/group"
	"tagbus/bus/internal/pull"
	"tagbus/bus/internal/retain"
	"tagbus/netio"
)

var (
	// ErrNoResources is returned by the publishing methods that do not wait, when a
	// blocking subscriber of the tag, or the publisher's pool, has no room. No
	// subscriber gets the message. The same call may succeed after
	// PublisherConfig.OnReady; PublishContext waits instead.
	ErrNoResources = fmt.Errorf("bus: not published: %w", netio.ErrNoResources)

	// ErrClosed is returned by every method of a closed publisher, subscriber
	// or subscription, and by Publish after Drain.
	ErrClosed = errors.New("bus: closed")

	// ErrOnLoop is returned by the methods that wait, if they would have to wait on an
	// event loop. Called from a handler or an event they would wait for themselves for
	// ever. On the loop of another node, two of them could wait for each other. It is
	// the same on every event loop of the process.
	ErrOnLoop = errors.New("bus: cannot wait inside a callback: use the variant that does not wait, or another goroutine")

	// ErrUnknownTag is wrapped in the error of Publish for a tag that the publisher
	// does not serve: one that is neither in PublisherConfig.Tags nor added by AddTags,
	// or that RemoveTags has removed.
	ErrUnknownTag = errors.New("tag is not one of the publisher's")

	// ErrTooManyRemoved is returned by Publisher.AddTags when too many published tags
	// are removed. A publisher remembers the position of each.
	ErrTooManyRemoved = errors.New("bus: publisher remembers too many tags that it has ceased to serve: open another publisher")

	// ErrMessageTooLarge is wrapped in the error of Publish for a message above
	// PublisherConfig.MaxMessageBytes.
	ErrMessageTooLarge = errors.New("message too large")

	// ErrInvalidConfig is wrapped by every violation of a configuration.
	ErrInvalidConfig = errors.New("bus: invalid configuration")

	// ErrEmptySet is returned by Subscribe for a set without tags.
	ErrEmptySet = group.ErrEmptySet

	// ErrHasHandler is yielded by Subscription.Messages when the subscription
	// delivers to a handler instead.
	ErrHasHandler = errors.New("bus: subscription delivers to a handler: pass a nil handler to iterate")

	// ErrNotBatches is returned by Subscription.TakeBatch, and yielded by Batches, when the
	// subscription keeps no batches.
	ErrNotBatches = errors.New("bus: subscription keeps no batches: set SubscriptionConfig.Batches, and pass a nil handler")

	// ErrNoBatch is returned by Subscription.TakeBatch when nothing has come.
	ErrNoBatch = pull.ErrEmpty

	// ErrRetainLimit is returned by Message.Retain when the retained memory is at its
	// limit, SubscriberConfig.RetainBytes.
	ErrRetainLimit = retain.ErrLimit

	// ErrMessageOver is returned by Message.Retain for a message that is not valid any
	// more.
	ErrMessageOver = retain.ErrOver

	// ErrLoanOver is returned by Loan.Publish for a loan that was published or aborted.
	ErrLoanOver = errors.New("bus: loan is over: it was published or aborted already")

	// ErrStaleEntry is the cause of a refusal by a publisher that is not the
	// instance the directory entry named.
	ErrStaleEntry = errors.New("bus: another publisher answers at this address: its directory entry is stale")

	// ErrDuplicate is the cause of a subscriber's Duplicate event.
	ErrDuplicate = errors.New("bus: two publishers serve the same tags: stop one of them, or choose one by SubscriptionConfig.Duplicates")

	// ErrTooManyDuplicates is the cause of a subscriber's Problem event if so many publishers serve
	// the same tags that not each two of them are compared: more than about 512. Of those that are not,
	// SubscriptionConfig.Duplicates chooses none: all are delivered, and there are no Duplicate events.
	ErrTooManyDuplicates = errors.New("bus: too many publishers serve the same tags to compare each two of them: those that are left out all deliver, whatever Duplicates says: look who announces these tags (tagbus ls), and remove those that do not belong there")

	// ErrOwned is the cause of a receiver's Refused event if the sender has another
	// receiver of some of its tags. The text names both. The sender tries this one again
	// when the other one has ended.
	ErrOwned = errors.New("bus: another receiver has the tags")

	// ErrNoPublisher is wrapped in the error that ends a subscription if no publisher
	// acknowledges it within SubscriptionConfig.Timeout.
	ErrNoPublisher = errors.New("no publisher has acknowledged the subscription")

	// ErrProtocol is wrapped in the cause of a connection's end if the peer breaks the
	// protocol.
	ErrProtocol = errors.New("bus: protocol violation")

	// ErrTransport is wrapped in the cause of a connection's end if the backend breaks
	// the contract of package netio. It is a bug of the backend.
	ErrTransport = errors.New("bus: the transport reported a send that was not the next to complete: report this as a bug of the backend")

	// ErrPeerFailed is wrapped in a *PeerFailedError.
	ErrPeerFailed = errors.New("bus: it has ended because something failed there")

	// ErrUndelivered is wrapped in the error of Drain if a connection ends before
	// everything is sent to its subscriber, or taken by the receiver.
	ErrUndelivered = errors.New("not everything was delivered")

	// ErrNoGoodbye is the cause of a publisher's or sender's Lost event if the
	// subscriber, or its system, closes the connection without a goodbye.
	ErrNoGoodbye = errors.New("bus: the peer ended the connection without goodbye: it was killed, or has failed")

	// ErrConnectionLost is the cause of a Gap: the messages were published while
	// the connection was down.
	ErrConnectionLost = errors.New("bus: published while the connection was lost")

	// ErrTooSlow is the cause of a Gap that the subscription's policy makes: the
	// subscription is slower than the publisher and holds all that it may.
	ErrTooSlow = errors.New("bus: subscription too slow: read faster, raise SubscriptionConfig.BacklogBytes or choose another policy")

	// ErrPublisherMemory is the cause of a Gap of a subscription that may lose
	// messages, if all of these together hold as much of the publisher's memory as they
	// may.
	ErrPublisherMemory = errors.New("bus: slow subscriptions took too much of the publisher's memory: raise PublisherConfig.PoolBytes")

	// ErrQueueFull is the cause of a Gap of a subscription without handler whose policy
	// may lose messages. They were received while its own queue was full. Such events
	// come once a second.
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

	// ErrPublisherEnded is the cause of a Gap that only the publisher's final positions
	// show. It sends them when it ends, or stops serving the tag.
	ErrPublisherEnded = errors.New("bus: missing when the publisher ended, or ceased to serve the tag")

	// ErrSilent is wrapped in the cause of a Lost event, a *SilentError, if the peer
	// sends nothing for longer than the heartbeats allow.
	ErrSilent = errors.New("bus: nothing heard of the peer")

	// ErrStalled is wrapped in the cause of a publisher's Lost or Stalled event, a
	// *StallError, if the subscriber takes nothing for too long.
	ErrStalled = errors.New("bus: subscriber takes nothing")

	// ErrNoReceiver is wrapped in the error of Send when no connected receiver owns the
	// tag. The first Send to a tag only begins to connect. Name the tags in
	// SenderConfig.Tags, or use SendContext or WaitReceivers, which wait.
	ErrNoReceiver = errors.New("no receiver of the tag is connected")

	// ErrReceiverLost is wrapped in an *AckError if the connection to the receiver ends
	// before the acknowledgement comes.
	ErrReceiverLost = fanout.ErrLost

	// ErrNotHandled is wrapped in an *AckError if the receiver says that its handler
	// panicked, or that it has none any more.
	ErrNotHandled = fanout.ErrNotHandled

	// ErrNoReply is matched by a *NoReplyError.
	ErrNoReply = errors.New("no reply")

	// ErrTooManyRequests is wrapped in the error of Request if RequesterConfig.MaxWaiting
	// requests of the Requester have no reply yet. Nothing was sent.
	ErrTooManyRequests = errors.New("too many requests without reply")

	// ErrReplaced is the cause of the end of a sender's connection when the same sender
	// dials the receiver again, as it does after a loss.
	ErrReplaced = errors.New("bus: the sender has lost this connection and dials again")

	// ErrHelloTimeout is the cause of a connection's end if the peer does not say hello
	// within 5 s.
	ErrHelloTimeout = errors.New("bus: peer did not say hello in time")

	// ErrNoSubscription is the cause of a connection's end if it has no subscription
	// for 10 s.
	ErrNoSubscription = errors.New("bus: peer has asked for nothing in time")

	// ErrGroupTimeout is the cause of a connection's end if a group of subscriptions is
	// not complete within 10 s.
	ErrGroupTimeout = errors.New("bus: the rest of a group of subscriptions did not come in time")

	// ErrGroupMemory is wrapped in the cause of a connection's end if the incomplete
	// groups of subscriptions at a publisher take too much memory. The connection whose
	// group is incomplete for longest ends.
	ErrGroupMemory = errors.New("bus: incomplete groups of subscriptions take too much memory of the publisher")

	// ErrAccountMemory is wrapped in the cause of a connection's end if the accounts of
	// lost messages at a publisher take too much memory. The connection of the
	// subscriber with the largest account ends.
	ErrAccountMemory = errors.New("bus: the accounts of what subscribers have lost take too much memory of the publisher")

	// ErrEntryTooLarge is wrapped in an *EntryLimitError: a set of tags has more ranges
	// or masks than a directory entry may have.
	ErrEntryTooLarge = errors.New("bus: directory entry with too many tags")

	// ErrGaveWay is wrapped in the cause of a connection's end if it has asked for
	// nothing and another one needs its place.
	ErrGaveWay = errors.New("bus: a connection that asks for nothing gave way to another one")

	// ErrTooManySubscribers is wrapped in the cause of a refusal by a publisher that
	// has as many subscribers as it allows, in total or from one address.
	ErrTooManySubscribers = errors.New("bus: publisher has too many subscribers")

	// ErrTooManySenders is wrapped in the cause of a refusal by a receiver that has as
	// many senders as it allows, in total or from one address.
	ErrTooManySenders = errors.New("bus: receiver has too many senders")
)
