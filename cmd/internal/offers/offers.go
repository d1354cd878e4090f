// SPDX-License-Identifier: Apache-2.0

// Package offers says which publishers there are while none of them has the wanted tags.
package offers

import (
	"context"
	"log/slog"
	"time"

	"tagbus/bus"
	"tagbus/cmd/internal/cli"
	"tagbus/internal/backoff"
	"tagbus/tags"
)

// interval is how long no publisher may be connected before it is said whether there are
// others, and how often that is looked up while there is none at all.
const interval = 2 * time.Second

// Subscriber is what is asked, as *bus.Subscriber.
type Subscriber interface {
	Stats() bus.SubscriberStats
	Offers(ctx context.Context, wanted tags.Set) (bus.Offers, error)
}

// Tell says which publishers there are if none of them has the tags: at first, and again
// after pauses that grow, until done is closed.
func Tell(c *cli.Console, s Subscriber, wanted tags.Set, done <-chan struct{}) {
	tick := time.NewTicker(interval)
	defer tick.Stop()
	var again backoff.Reminder // since others are there
	saidEmpty := false
	for {
		select {
		case <-tick.C:
		case <-done:
			return
		}
		if s.Stats().Publishers > 0 {
			again = backoff.Reminder{}
			continue
		}
		if !again.Due(time.Now()) {
			continue
		}
		ctx, cancel := context.WithTimeout(context.Background(), interval)
		found, err := s.Offers(ctx, wanted)
		cancel()
		switch {
		case err != nil: // it costs next to nothing to look again
			again = backoff.Reminder{}
		case found.Publishers == 0:
			again = backoff.Reminder{}
			if !saidEmpty {
				saidEmpty = true
				c.Tell(slog.LevelInfo, "waiting", nil, "the bus has no publisher: start one with the same --bus, or check --bus; this command waits for it")
			}
		case found.None():
			c.Tell(slog.LevelWarn, "waiting", nil, "%v; check --tags, or wait for a publisher that has them", found)
		}
	}
}
