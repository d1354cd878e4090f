// SPDX-License-Identifier: Apache-2.0

package node_test

import (
	"context"
	"fmt"
	"log"
	"os"

	"tagbus/bus"
	"tagbus/node"
	"tagbus/tags"
)

// An event builder keeps the fragments of an event until the last one is there.
// Nothing is copied: Retain keeps the memory into which they were read.
func Example_retain() {
	ctx := context.Background()
	n, err := node.Open(node.Config{Bus: os.TempDir() + "/retain"})
	if err != nil {
		log.Fatal(err)
	}
	defer n.Close()

	const links = 3
	subscriber, err := n.NewSubscriber(bus.SubscriberConfig{Receiving: bus.Receiving{RetainBytes: 256 << 20}})
	if err != nil {
		log.Fatal(err)
	}
	built := make(chan []bus.Message)
	events := make(map[uint64][]bus.Message) // by the counter of the fragments
	sub, err := subscriber.Subscribe(tags.Of(1, 2, 3), func(m bus.Message) {
		if err := m.Retain(); err != nil {
			log.Print(err) // too much is kept: copy the data, or leave it out
			return
		}
		events[m.Counter] = append(events[m.Counter], m)
		if fragments := events[m.Counter]; len(fragments) == links {
			delete(events, m.Counter)
			built <- fragments
		}
	})
	if err != nil {
		log.Fatal(err)
	}

	publisher, err := n.NewPublisher(bus.PublisherConfig{Tags: tags.Of(1, 2, 3)})
	if err != nil {
		log.Fatal(err)
	}
	if err := sub.Wait(ctx); err != nil {
		log.Fatal(err)
	}
	for link := range tags.Tag(links) {
		if err := publisher.Publish(1+link, fmt.Appendf(nil, "fragment of link %d", 1+link)); err != nil {
			log.Fatal(err)
		}
	}
	for _, m := range <-built {
		fmt.Printf("%s\n", m.Data)
		m.Release()
	}
	// Output:
	// fragment of link 1
	// fragment of link 2
	// fragment of link 3
}

// A batch handler is called once for each page: good for what is done with many
// messages together, as writing them.
func Example_batch() {
	ctx := context.Background()
	n, err := node.Open(node.Config{Bus: os.TempDir() + "/batch"})
	if err != nil {
		log.Fatal(err)
	}
	defer n.Close()

	subscriber, err := n.NewSubscriber(bus.SubscriberConfig{})
	if err != nil {
		log.Fatal(err)
	}
	total := make(chan int, 100)
	sub, err := subscriber.SubscribeBatch(tags.Of(1), func(messages []bus.Message) {
		bytes := 0
		for _, m := range messages {
			bytes += len(m.Data)
		}
		total <- bytes
	}, bus.SubscriptionConfig{})
	if err != nil {
		log.Fatal(err)
	}

	publisher, err := n.NewPublisher(bus.PublisherConfig{Tags: tags.Of(1)})
	if err != nil {
		log.Fatal(err)
	}
	if err := sub.Wait(ctx); err != nil {
		log.Fatal(err)
	}
	for range 100 {
		if err := publisher.Publish(1, make([]byte, 40)); err != nil {
			log.Fatal(err)
		}
	}
	bytes := 0
	for bytes < 4000 {
		bytes += <-total
	}
	fmt.Println(bytes, "bytes")
	// Output: 4000 bytes
}
