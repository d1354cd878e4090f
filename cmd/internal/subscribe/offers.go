// SPDX-License-Identifier: Apache-2.0

package subscribe

import (
	"context"
	"log/slog"
	"time"

	"tagbus/internal/remind"
)

// offersInterval is how long no publisher may be connected before it is said whether
// there are others, and how often that is looked up while there is none at all.
const offersInterval = 2 * time.Second

// tellOffers says which publishers there are if none of them has the tags: at first, and
// again after pauses that grow, until the run ends.
func (r *run) tellOffers() {
	tick := time.NewTicker(offersInterval)
	defer tick.Stop()
	var again remind.Reminder // since others are there
	for {
		select {
		case <-tick.C:
		case <-r.ending.done:
			return
		}
		if r.subscriber.Stats().Publishers > 0 {
			again = remind.Reminder{}
			continue
		}
		if !again.Due(time.Now()) {
			continue
		}
		ctx, cancel := context.WithTimeout(context.Background(), offersInterval)
		found, err := r.subscriber.Offers(ctx, r.flags.Tags)
		cancel()
		switch {
		case err != nil || found.Publishers == 0: // it costs next to nothing to look again
			again = remind.Reminder{}
		case found.None():
			r.console.Tell(slog.LevelWarn, "waiting", nil, "%v; check --tags, or wait for a publisher that has them", found)
		}
	}
}
