// SPDX-License-Identifier: Apache-2.0

// Command receiver owns tags, and ends after COUNT messages.
package main

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"time"

	"tagbus/bindings/go/examples/internal/open"
	"tagbus/bus"
	"tagbus/tags"
)

func main() { open.Main("receiver BUS TAGS COUNT [OPTIONS]", run) }

func run(args []string) error {
	set, err := tags.ParseSet(args[1])
	if err != nil {
		return err
	}
	count, err := strconv.ParseUint(args[2], 0, 64)
	if err != nil {
		return err
	}
	n, err := open.Bus(args[0], args[3:])
	if err != nil {
		return err
	}
	defer n.Close() //nolint:errcheck // the process ends
	receiver, err := n.NewReceiver(bus.ReceiverConfig{Tags: set}, nil)
	if err != nil {
		return err
	}
	messages, bytes := uint64(0), 0
	if count > 0 {
		for m, err := range receiver.Messages(context.Background()) {
			if err != nil {
				return err
			}
			messages, bytes = messages+1, bytes+len(m.Data)
			if messages == count {
				break
			}
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if err := receiver.Drain(ctx); err != nil {
		return err
	}
	fmt.Fprintf(os.Stdout, "received %d messages, %d bytes\n", messages, bytes)
	return nil
}
