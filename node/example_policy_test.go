// SPDX-License-Identifier: Apache-2.0

package node_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"sync/atomic"

	"tagbus/bus"
	"tagbus/node"
	"tagbus/tags"
)

// A monitor chooses a policy that never holds the publisher up. Here it looks at
// every third message; what it did not get, it can count.
func Example_policy() {
	ctx := context.Background()
	n, err := node.Open(node.Config{Bus: os.TempDir() + "/quickstart-policy"})
	if err != nil {
		log.Fatal(err)
	}
	defer n.Close()

	monitor, _ := n.NewSubscriber(bus.SubscriberConfig{})
	sub, err := monitor.SubscribeWith(tags.Of(7), func(m bus.Message) {
		fmt.Printf("#%d: %s\n", m.Counter, m.Data)
	}, bus.SubscriptionConfig{Policy: bus.Policy{Kind: bus.Sample, Every: 3}})
	if err != nil {
		log.Fatal(err)
	}
	publisher, _ := n.NewPublisher(bus.PublisherConfig{Tags: tags.Of(7)})
	_ = sub.Wait(ctx)
	for i := range 6 {
		_ = publisher.PublishContext(ctx, 7, fmt.Appendf(nil, "event %d", i))
	}
	_ = publisher.Drain(ctx) // everything has arrived, or is accounted for

	stats := monitor.Stats()
	fmt.Printf("%d received, %d left out, %d lost\n", stats.Messages, stats.LeftOut, stats.Lost)
	// Output:
	// #1: event 0
	// #4: event 3
	// 2 received, 4 left out, 0 lost
}

// A recorder must know what it has missed, to the message: events tell of each
// gap, and counts per tag add up at any time.
func Example_gaps() {
	ctx := context.Background()
	n, err := node.Open(node.Config{Bus: os.TempDir() + "/quickstart-gaps"})
	if err != nil {
		log.Fatal(err)
	}
	defer n.Close()

	var missing atomic.Uint64
	recorder, _ := n.NewSubscriber(bus.SubscriberConfig{
		Common: bus.Common{OnEvent: func(e bus.Event) {
			if e.Kind == bus.Gap { // e.Tag, e.Count and e.Err say what and why
				missing.Add(e.Count)
			}
		}},
	})
	sub, err := recorder.Subscribe(tags.Of(7), func(bus.Message) {})
	if err != nil {
		log.Fatal(err)
	}
	publisher, _ := n.NewPublisher(bus.PublisherConfig{Tags: tags.Of(7)})
	_ = sub.Wait(ctx)
	for range 1000 {
		_ = publisher.PublishContext(ctx, 7, []byte("event"))
	}
	_ = publisher.Drain(ctx)

	all, err := recorder.TagStats(ctx)
	if err != nil {
		log.Fatal(err)
	}
	for _, t := range all {
		fmt.Printf("tag %d: %d published, %d delivered, %d lost\n", uint64(t.Tag), t.Published, t.Delivered, t.Losses.Lost())
	}
	fmt.Println("in gaps:", missing.Load())
	// Output:
	// tag 7: 1000 published, 1000 delivered, 0 lost
	// in gaps: 0
}
