// SPDX-License-Identifier: Apache-2.0

// Command sender sends COUNT messages to the receiver that owns the tag.
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

func main() { open.Main("sender BUS TAG COUNT [OPTIONS]", run) }

func run(args []string) error {
	tag, err := strconv.ParseUint(args[1], 0, 64)
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
	sender, err := n.NewSender(bus.SenderConfig{Tags: tags.Of(tags.Tag(tag))})
	if err != nil {
		return err
	}
	for i := range count {
		if err := sender.SendContext(context.Background(), tags.Tag(tag), fmt.Appendf(nil, "message %d", i+1)); err != nil {
			return err
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if err := sender.Drain(ctx); err != nil {
		return err
	}
	fmt.Fprintf(os.Stdout, "sent %d messages\n", count)
	return nil
}
