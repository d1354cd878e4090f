// SPDX-License-Identifier: Apache-2.0

// Package bus publishes and subscribes by tag.
//
//	n, err := node.Open(node.Config{Bus: "/tmp/bus"}) // a loop, TCP, and a folder
//	if err != nil {
//		return err
//	}
//
//	publisher, err := n.NewPublisher(bus.PublisherConfig{Tags: tags.Of(0x1000)})
//	if err != nil {
//		return err
//	}
//	subscriber, err := n.NewSubscriber(bus.SubscriberConfig{})
//	if err != nil {
//		return err
//	}
//	sub, err := subscriber.Subscribe(tags.Of(0x1000), func(m bus.Message) {
//		fmt.Printf("%v: %s\n", m.Tag, m.Data)
//	})
//	if err != nil {
//		return err
//	}
//	if err := sub.Wait(ctx); err != nil { // acknowledged
//		return err
//	}
//	err = publisher.Publish(0x1000, []byte("hello"))
//
// A [Publisher] serves a set of tags and announces that in a directory. A
// [Subscriber] asks for sets of tags, finds the publishers in the directory,
// and connects to each. It delivers their messages to a [Handler] or through
// [Subscription.Messages]. The transport below is any netio backend; package
// node puts one together with a loop and a directory.
//
// In the other direction, to the detector, a [Receiver] owns tags and a [Sender]
// finds it and sends to it. A [Requester] waits for replies. Underneath, a sender
// is a publisher that dials and a receiver a subscriber that listens.
//
// # What is promised
//
//  1. Per tag and publisher, a subscriber gets messages in the order of
//     publishing, each at most once, bytes unchanged.
//  2. Nothing is lost silently: what a subscriber missed is reported to it.
//  3. A subscription is acknowledged with its position: from there on, 2 holds.
//  4. A slow or dead subscriber does not harm those that share none of its tags,
//     and one that ends harms no other.
//  5. Publish returning nil means accepted for every subscriber of the tag, an
//     error means accepted for none.
//  6. Memory is bounded by configuration.
//  7. Close always returns, and no callback runs after it.
//
// # Threads
//
// Every method may be called from any goroutine and from any callback. Handlers
// and events are called on the loop, one at a time, and must not block; [Handler] says
// what else they must not do. Methods
// that wait say so. Called on a loop, of this node or another one, they return
// [ErrOnLoop] instead of waiting for themselves or for each other.
package bus
