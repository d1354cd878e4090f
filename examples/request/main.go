// SPDX-License-Identifier: Apache-2.0

// Command request has a device that doubles numbers, and two requesters that ask it at the
// same time. The device answers the last first, and each requester gets its own replies.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"os"
	"strconv"
	"sync"
	"time"

	"tagbus/bus"
	"tagbus/node"
	"tagbus/tags"
)

// The tags of the device: it owns the first and publishes the second.
const (
	commandTag = tags.Tag(1)
	replyTag   = tags.Tag(2)
)

func main() {
	folder, err := os.MkdirTemp("", "request")
	if err == nil {
		err = errors.Join(run(context.Background(), os.Stdout, folder), os.RemoveAll(folder))
	}
	if err != nil {
		log.Fatal(err)
	}
}

// run starts the device and the requesters, which may be programs on three hosts.
func run(ctx context.Context, out io.Writer, folder string) (err error) {
	n, err := startDevice(folder)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, n.Close()) }()

	var all sync.WaitGroup
	lines, errs := make([]string, 2), make([]error, 2)
	for i, name := range []string{"first", "second"} {
		all.Go(func() { lines[i], errs[i] = ask(ctx, folder, name, 10*(i+1)) })
	}
	all.Wait()
	for _, line := range lines {
		fmt.Fprint(out, line)
	}
	return errors.Join(errs...)
}

// startDevice returns the node of a device. A larger number takes it less time.
func startDevice(folder string) (*node.Node, error) {
	n, err := node.Open(node.Config{Bus: folder})
	if err != nil {
		return nil, err
	}
	replies, err := n.NewPublisher(bus.PublisherConfig{Tags: tags.Of(replyTag)})
	if err != nil {
		return nil, errors.Join(err, n.Close())
	}
	_, err = n.NewReceiver(bus.ReceiverConfig{Tags: tags.Of(commandTag)}, func(m bus.Message) {
		number, err := strconv.Atoi(string(m.Data))
		if err != nil {
			return // no reply: the request fails
		}
		to := m.RequestID() // valid beyond the handler, which must not wait
		time.AfterFunc(time.Second/time.Duration(number), func() {
			if err := replies.Reply(to, replyTag, 0, fmt.Append(nil, 2*number)); err != nil {
				log.Print(err)
			}
		})
	})
	if err != nil {
		return nil, errors.Join(err, n.Close())
	}
	return n, nil
}

// ask returns what a requester with a node of its own has asked, and the replies.
func ask(ctx context.Context, folder, name string, number int) (lines string, err error) {
	n, err := node.Open(node.Config{Bus: folder})
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, n.Close()) }()
	sender, err := n.NewSender(bus.SenderConfig{Tags: tags.Of(commandTag)})
	if err != nil {
		return "", err
	}
	subscriber, err := n.NewSubscriber(bus.SubscriberConfig{})
	if err != nil {
		return "", err
	}
	requester, err := bus.NewRequester(sender, subscriber, bus.RequesterConfig{Command: commandTag, Reply: replyTag})
	if err != nil {
		return "", err
	}
	for i := range 3 {
		m, err := requester.Request(ctx, fmt.Append(nil, number+i))
		if err != nil {
			return lines, err
		}
		lines += fmt.Sprintf("%s: %d doubled is %s\n", name, number+i, m.Data)
	}
	return lines, nil
}
