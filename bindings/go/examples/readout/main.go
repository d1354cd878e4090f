// SPDX-License-Identifier: Apache-2.0

// Command readout publishes COUNT messages of SIZE bytes, once there is a subscriber.
package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"strconv"
	"time"

	"tagbus/bindings/go/examples/internal/open"
	"tagbus/bus"
	"tagbus/tags"
)

func main() { open.Main("readout BUS TAG COUNT SIZE [OPTIONS]", run) }

func run(args []string) error {
	var numbers [3]uint64
	for i := range numbers {
		var err error
		if numbers[i], err = strconv.ParseUint(args[i+1], 0, 64); err != nil {
			return err
		}
	}
	tag, count, size := tags.Tag(numbers[0]), numbers[1], int(numbers[2])
	n, err := open.Bus(args[0], args[4:])
	if err != nil {
		return err
	}
	defer n.Close() //nolint:errcheck // the process ends
	publisher, err := n.NewPublisher(bus.PublisherConfig{Tags: tags.Of(tag)})
	if err != nil {
		return err
	}
	if err := publisher.WaitSubscribers(context.Background(), 1, tags.Of(tag)); err != nil {
		return err
	}
	for i := range count {
		data := bytes.Repeat([]byte{byte(i + 1)}, size)
		if err := publisher.PublishContext(context.Background(), tag, data); err != nil {
			return err
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if err := publisher.Drain(ctx); err != nil {
		return err
	}
	fmt.Fprintf(os.Stdout, "published %d messages\n", count)
	return nil
}
