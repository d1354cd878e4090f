// SPDX-License-Identifier: Apache-2.0

// Command monitor subscribes, and ends after COUNT messages, lost ones included.
package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"strconv"
	"sync/atomic"
	"time"

	"tagbus/bindings/go/examples/internal/open"
	"tagbus/bus"
	"tagbus/tags"
)

func main() { open.Main("monitor BUS TAGS COUNT [OPTIONS]", run) }

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
	var lost atomic.Uint64
	subscriber, err := n.NewSubscriber(bus.SubscriberConfig{Common: bus.Common{OnEvent: func(e bus.Event) {
		log.Print(e)
		if e.Kind == bus.Gap {
			lost.Add(e.Count)
		}
	}}})
	if err != nil {
		return err
	}
	subscription, err := subscriber.Subscribe(set, nil)
	if err != nil {
		return err
	}
	messages, bytes := uint64(0), 0
	for messages+lost.Load() < count {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second) // to look at what is lost
		for m, err := range subscription.Messages(ctx) {
			if errors.Is(err, context.DeadlineExceeded) {
				break
			}
			if err != nil {
				cancel()
				return err
			}
			if messages, bytes = messages+1, bytes+len(m.Data); messages+lost.Load() >= count {
				break
			}
		}
		cancel()
	}
	fmt.Fprintf(os.Stdout, "received %d messages, %d bytes, %d lost\n", messages, bytes, lost.Load())
	return nil
}
