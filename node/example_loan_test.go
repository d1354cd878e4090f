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

// A readout fills memory of the publisher in place, as from a buffer of its card. Nothing is copied
// after that: subscribers of the same host read it there.
func Example_loan() {
	dir, err := os.MkdirTemp("", "bus")
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	n, err := node.Open(node.Config{Bus: dir})
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = n.Close() }()

	const link = tags.Tag(0x1000)
	p, err := n.NewPublisher(bus.PublisherConfig{Tags: tags.Of(link)})
	if err != nil {
		log.Fatal(err)
	}
	s, err := n.NewSubscriber(bus.SubscriberConfig{})
	if err != nil {
		log.Fatal(err)
	}
	done := make(chan int, 1)
	if _, err := s.Subscribe(tags.Of(link), func(m bus.Message) { done <- len(m.Data) }); err != nil {
		log.Fatal(err)
	}
	ctx := context.Background()
	if err := p.WaitSubscribers(ctx, 1, tags.Of(link)); err != nil {
		log.Fatal(err)
	}

	block, err := p.LoanContext(ctx, link, 64<<10)
	if err != nil {
		log.Fatal(err)
	}
	filled := readout(block.Data())
	block.Truncate(filled)
	if err := block.PublishContext(ctx, 0); err != nil {
		block.Abort()
		log.Fatal(err)
	}
	fmt.Println(<-done, "bytes")
	// Output: 50000 bytes
}

// readout stands for what fills a block, and returns how much of it.
func readout(block []byte) int {
	for i := range block[:50000] {
		block[i] = byte(i)
	}
	return 50000
}
