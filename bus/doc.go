// Package bus publishes and subscribes by tag.
//
// A [Publisher] serves a set of tags and announces that in a directory. A
// [Subscriber] asks for sets of tags, finds the publishers in the directory,
// connects to each, and delivers their messages to a [Handler] or through
// [Subscription.Messages]. The transport below is any netio backend; package
// node puts one together with a loop and a directory.
//
// In the other direction, to the detector, a [Receiver] owns tags and a [Sender]
// finds it and sends to it; a [Requester] waits for replies. Underneath, a sender
// is a publisher that dials and a receiver a subscriber that listens.
//
// # What is promised
//
//  1. Per tag and publisher, a subscriber gets messages in the order of
//     publishing, each at most once, bytes unchanged.
//  2. Nothing is lost silently: what a subscriber missed is reported to it.
//  3. A subscription is acknowledged with its position: from there on, 2 holds.
//  4. A slow or dead subscriber does not harm those that share none of its tags,
//     and one that ends harms nobody.
//  5. Publish returning nil means accepted for every subscriber of the tag, an
//     error means for nobody.
//  6. Memory is bounded by configuration.
//  7. Close always returns, and no callback runs after it.
//
// # Threads
//
// Every method may be called from any goroutine and from any callback. Handlers
// and events are called on the loop, one at a time, and must not block. Methods
// that wait say so; called on a loop, of this node or another one, they return
// [ErrOnLoop] instead of waiting for themselves, or for each other.
//
// # The files
//
// In the order of a message's way. Publishing: publisher.go, publish.go, route.go,
// routes.go, publisher_room.go, stream.go, page.go, lane.go, link.go. Receiving:
// source.go, source_control.go, dispatch.go, subscription.go, message_queue.go.
// Subscribing, from the subscriber's side to the publisher's: request.go,
// source_ask.go, source_group.go, publisher_group.go, link_subscribe.go,
// link_change.go, link_enter.go, reroute.go, link_leave.go. What both sides use:
// chores.go for work in slices, event_queue.go, heartbeat.go, account.go and
// losses.go. What bounds strangers: publisher_seats.go, receiver_seats.go,
// account_bound.go, source_answers.go, entry_limits.go. For the other direction:
// sender.go, ownership.go, owners.go, outlet.go, receipt.go, and receiver.go,
// source_accept.go. follow.go and contact.go find and dial for both.
package bus
