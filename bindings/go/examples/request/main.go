// SPDX-License-Identifier: Apache-2.0

// Command request is a device that doubles numbers, and a program that asks it. The device owns tag 1,
// and publishes replies with tag 2.
package main

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"time"

	"tagbus/bindings/go/examples/internal/open"
	"tagbus/bus"
	"tagbus/node"
	"tagbus/tags"
)

const (
	commandTag = tags.Tag(1)
	replyTag   = tags.Tag(2)
)

func main() { open.Main("request BUS device|ask COUNT [OPTIONS]", run) }

func run(args []string) error {
	count, err := strconv.ParseUint(args[2], 0, 64)
	if err != nil {
		return err
	}
	n, err := open.Bus(args[0], args[3:])
	if err != nil {
		return err
	}
	defer n.Close() //nolint:errcheck // the process ends
	if args[1] == "device" {
		return device(n, count)
	}
	return ask(n, count)
}

func device(n *node.Node, count uint64) error {
	replies, err := n.NewPublisher(bus.PublisherConfig{Tags: tags.Of(replyTag)})
	if err != nil {
		return err
	}
	commands, err := n.NewReceiver(bus.ReceiverConfig{Tags: tags.Of(commandTag)}, nil)
	if err != nil {
		return err
	}
	answered := uint64(0)
	for m, err := range commands.Messages(context.Background()) {
		if err != nil {
			return err
		}
		number, err := strconv.ParseInt(string(m.Data), 10, 64)
		if err != nil {
			return err
		}
		if err := replies.ReplyContext(context.Background(), m.RequestID(), replyTag, 0, fmt.Append(nil, 2*number)); err != nil {
			return err
		}
		if answered++; answered == count {
			break
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if err := replies.Drain(ctx); err != nil {
		return err
	}
	fmt.Fprintf(os.Stdout, "answered %d commands\n", answered)
	return nil
}

func ask(n *node.Node, count uint64) error {
	sender, err := n.NewSender(bus.SenderConfig{Tags: tags.Of(commandTag)})
	if err != nil {
		return err
	}
	subscriber, err := n.NewSubscriber(bus.SubscriberConfig{})
	if err != nil {
		return err
	}
	requester, err := bus.NewRequester(sender, subscriber, bus.RequesterConfig{Command: commandTag, Reply: replyTag})
	if err != nil {
		return err
	}
	for i := uint64(1); i <= count; i++ {
		reply, err := requester.Request(context.Background(), fmt.Append(nil, i))
		if err != nil {
			return err
		}
		if want := strconv.FormatUint(2*i, 10); string(reply.Data) != want {
			return fmt.Errorf("%d doubled: got %q, want %s", i, reply.Data, want)
		}
	}
	fmt.Fprintf(os.Stdout, "asked %d times\n", count)
	return nil
}
