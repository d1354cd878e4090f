// SPDX-License-Identifier: Apache-2.0

package bus_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"time"

	"tagbus/bus"
	"tagbus/node"
	"tagbus/tags"
)

// openNode opens a node on a bus of its own. close removes it.
func openNode() (n *node.Node, closeAll func()) {
	dir, err := os.MkdirTemp("", "tagbus-example")
	if err != nil {
		log.Fatal(err)
	}
	if n, err = node.Open(node.Config{Bus: dir}); err != nil {
		log.Fatal(err)
	}
	return n, func() {
		if err := errors.Join(n.Close(), os.RemoveAll(dir)); err != nil {
			log.Fatal(err)
		}
	}
}

// A sender finds the receiver that owns a tag, and can wait until a message is handled.
func ExampleSender() {
	n, closeAll := openNode()
	defer closeAll()
	const link = tags.Tag(0x1000013000198000) // to the detector
	_, err := n.NewReceiver(bus.ReceiverConfig{Tags: tags.Of(link)}, func(m bus.Message) {
		fmt.Printf("received %s\n", m.Data)
	})
	if err != nil {
		log.Fatal(err)
	}

	ctx := context.Background()
	sender, err := n.NewSender(bus.SenderConfig{Common: bus.Common{Name: "control"}})
	if err != nil {
		log.Fatal(err)
	}
	if err := sender.SendAcked(ctx, link, []byte("threshold 12")); err != nil {
		log.Fatal(err)
	}
	fmt.Println("it was handled")

	err = sender.Send(link+1, nil) // does not wait
	fmt.Println(errors.Is(err, bus.ErrNoReceiver))
	// Output:
	// received threshold 12
	// it was handled
	// true
}

// A receiver owns tags and gets what several senders send, in the order of each.
func ExampleReceiver() {
	n, closeAll := openNode()
	defer closeAll()
	receiver, err := n.NewReceiver(bus.ReceiverConfig{
		Common: bus.Common{
			Name: "crate 7",
			OnEvent: func(e bus.Event) {
				if e.Kind == bus.Goodbye {
					fmt.Println("goodbye", e.Peer.Name)
				}
			},
		}, Tags: tags.Of(1, 2),
	}, func(m bus.Message) {
		fmt.Printf("tag %d #%d of %s: %s\n", uint64(m.Tag), m.Counter, m.Publisher.Name, m.Data)
	})
	if err != nil {
		log.Fatal(err)
	}

	ctx := context.Background()
	for _, name := range []string{"control", "monitor"} {
		sender, err := n.NewSender(bus.SenderConfig{Common: bus.Common{Name: name}, Tags: receiver.Tags()})
		if err != nil {
			log.Fatal(err)
		}
		if err := sender.WaitReceivers(ctx, receiver.Tags()); err != nil {
			log.Fatal(err)
		}
		_ = sender.Send(1, []byte("on"))
		_ = sender.Send(2, []byte("off"))
		if err := sender.Drain(ctx); err != nil { // everything has arrived
			log.Fatal(err)
		}
	}
	// Output:
	// tag 1 #1 of control: on
	// tag 2 #1 of control: off
	// goodbye control
	// tag 1 #1 of monitor: on
	// tag 2 #1 of monitor: off
	// goodbye monitor
}

// A command e-link and its reply e-link. The device gives the id of the request back with
// its reply, so that any number of requesters may ask it at the same time.
func ExampleRequester() {
	n, closeAll := openNode()
	defer closeAll()
	const command, reply = tags.Tag(1), tags.Tag(2)
	device, err := n.NewPublisher(bus.PublisherConfig{Tags: tags.Of(reply)})
	if err != nil {
		log.Fatal(err)
	}
	_, err = n.NewReceiver(bus.ReceiverConfig{Tags: tags.Of(command)}, func(m bus.Message) {
		if string(m.Data) == "read temperature" {
			_ = device.Reply(m.RequestID(), reply, 0, []byte("21 C"))
		}
	})
	if err != nil {
		log.Fatal(err)
	}

	sender, _ := n.NewSender(bus.SenderConfig{})
	subscriber, _ := n.NewSubscriber(bus.SubscriberConfig{})
	requester, err := bus.NewRequester(sender, subscriber, bus.RequesterConfig{Command: command, Reply: reply, Timeout: 10 * time.Second})
	if err != nil {
		log.Fatal(err)
	}
	m, err := requester.Request(context.Background(), []byte("read temperature"))
	fmt.Printf("%s %v\n", m.Data, err)

	ctx, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
	defer cancel()
	_, err = requester.Request(ctx, []byte("read humidity"))
	fmt.Println(errors.Is(err, bus.ErrNoReply))
	// Output:
	// 21 C <nil>
	// true
}
