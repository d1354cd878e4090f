// SPDX-License-Identifier: Apache-2.0

package node_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"tagbus/bus"
	"tagbus/node"
	"tagbus/tags"
)

// The quick start of the README: a subscriber and a publisher of one tag.
func Example() {
	const tag = tags.Tag(0x1000013000190000)
	ctx := context.Background()

	n, err := node.Open(node.Config{Bus: filepath.Join(os.TempDir(), "quickstart")})
	if err != nil {
		log.Fatal(err)
	}
	defer n.Close()

	subscriber, err := n.NewSubscriber(bus.SubscriberConfig{})
	if err != nil {
		log.Fatal(err)
	}
	sub, err := subscriber.Subscribe(tags.Of(tag), nil)
	if err != nil {
		log.Fatal(err)
	}

	publisher, err := n.NewPublisher(bus.PublisherConfig{Tags: tags.Of(tag)})
	if err != nil {
		log.Fatal(err)
	}
	if err := sub.Wait(ctx); err != nil { // from here on nothing is missed unreported
		log.Fatal(err)
	}
	if err := publisher.Publish(tag, []byte("hello, detector")); err != nil {
		log.Fatal(err)
	}

	for m, err := range sub.Messages(ctx) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Printf("%v #%d: %s\n", m.Tag, m.Counter, m.Data)
		break
	}
	// Output: 0x1000013000190000 #1: hello, detector
}

// A handler is the fast way: it is called for each message, on the loop, with
// the memory into which the transport has read it.
func Example_handler() {
	n, err := node.Open(node.Config{Bus: os.TempDir() + "/quickstart-handler"})
	if err != nil {
		log.Fatal(err)
	}
	defer n.Close()

	crate, err := tags.ParseSet("1/0/19/0/*/*/0/*/*") // all e-links of connector 19, to host
	if err != nil {
		log.Fatal(err)
	}
	subscriber, err := n.NewSubscriber(bus.SubscriberConfig{
		Common: bus.Common{OnEvent: func(e bus.Event) {
			if e.Kind == bus.Gap {
				fmt.Printf("lost %d of %v\n", e.Count, e.Tag)
			}
		}},
	})
	if err != nil {
		log.Fatal(err)
	}
	done := make(chan struct{})
	sub, err := subscriber.Subscribe(crate, func(m bus.Message) {
		fmt.Printf("e-link %d: %d bytes, status %d\n", m.Tag.ELink(), len(m.Data), m.Status)
		close(done)
	})
	if err != nil {
		log.Fatal(err)
	}

	publisher, err := n.NewPublisher(bus.PublisherConfig{Tags: crate})
	if err != nil {
		log.Fatal(err)
	}
	if err := sub.Wait(context.Background()); err != nil {
		log.Fatal(err)
	}
	if err := publisher.PublishStatus(0x1000013000190000, 0x10, make([]byte, 7200)); err != nil {
		log.Fatal(err)
	}
	<-done
	// Output: e-link 25: 7200 bytes, status 16
}
