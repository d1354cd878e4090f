// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"os"

	"tagbus/bench/internal/load"
	"tagbus/bus"
	"tagbus/tags"
)

// The tags of a ping-pong, in the two directions.
const (
	there = first
	back  = first + 1
)

// pingPong has a publisher and a subscriber in each of both processes. The second
// answers in the handler.
func pingPong(o load.Options) {
	folder, mine, others := o.Addr, back, there
	if o.Role == load.RolePub {
		mine, others = there, back
		var err error
		folder, err = os.MkdirTemp("", "bus")
		load.Must(err)
	}
	n := open(o, folder)
	cfg := publisherConfig(o)
	cfg.Tags = tags.Of(mine)
	p, err := n.NewPublisher(cfg)
	load.Must(err)
	s, err := n.NewSubscriber(bus.SubscriberConfig{})
	load.Must(err)
	send := func(data []byte) { load.Must(p.Publish(mine, data)) }
	if o.Role == load.RolePub {
		load.Listening(folder)
		load.AwaitGo()
		player := load.NewPings(o, send)
		profiled := load.Profile(o)
		subscription, err := s.Subscribe(tags.Of(others), func(m bus.Message) { player.Handle(m.Data) })
		load.Must(err)
		ctx := context.Background()
		load.Must(errors.Join(subscription.Wait(ctx), p.WaitSubscribers(ctx, 1, tags.Of(mine))))
		player.Play()
		profiled()
		player.Result().Report()
	} else {
		_, err := s.Subscribe(tags.Of(others), func(m bus.Message) { send(m.Data) })
		load.Must(err)
		load.Ready()
		select {} // until the runner ends it
	}
	load.AwaitQuit()
	load.Must(n.Close())
}
