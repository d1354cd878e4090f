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

// A readout has a few large buffers, which the hardware fills in turn. They are
// sent from where they are, and each is filled again when it is back.
func Example_publishZeroCopy() {
	ctx := context.Background()
	n, err := node.Open(node.Config{Bus: os.TempDir() + "/zero-copy"})
	if err != nil {
		log.Fatal(err)
	}
	defer n.Close()
	publisher, err := n.NewPublisher(bus.PublisherConfig{Tags: tags.Of(7)})
	if err != nil {
		log.Fatal(err)
	}
	subscriber, err := n.NewSubscriber(bus.SubscriberConfig{})
	if err != nil {
		log.Fatal(err)
	}
	received := make(chan string)
	sub, err := subscriber.Subscribe(tags.Of(7), func(m bus.Message) {
		received <- fmt.Sprintf("%d bytes of %d", len(m.Data), m.Data[0])
	})
	if err != nil {
		log.Fatal(err)
	}
	if err := sub.Wait(ctx); err != nil {
		log.Fatal(err)
	}

	type buffer struct {
		mem  []byte
		back func()
	}
	free := make(chan *buffer, 2)
	for range cap(free) {
		b := &buffer{mem: make([]byte, 64<<10)}
		b.back = func() { free <- b }
		b.back()
	}
	go func() {
		for i := range 4 {
			b := <-free
			b.mem[0] = byte(i) // the hardware would write here
			if err := publisher.PublishZeroCopyContext(ctx, 7, 0, b.mem, b.back); err != nil {
				log.Print(err)
			}
		}
	}()
	for range 4 {
		fmt.Println(<-received)
	}
	// Output:
	// 65536 bytes of 0
	// 65536 bytes of 1
	// 65536 bytes of 2
	// 65536 bytes of 3
}
