// SPDX-License-Identifier: Apache-2.0

package fanout

import (
	"context"

	"tagbus/bus/internal/tagset"
	"tagbus/tags"
)

// AwaitSubscribed waits until at least some connections have a subscription, and each tag of a
// set has one.
//
//   - mayWait: returns why the caller may not wait. It is asked before it would.
//   - Errors: ErrStopped; that of mayWait; tags.ErrTooComplex, wrapped; the cause of the end of ctx.
//   - Threads: any except the loop.
func (fan *Fanout) AwaitSubscribed(ctx context.Context, least int, set tags.Set, mayWait func() error) error {
	var missing *tags.Tag // as long as no connection wants it, the sets need not be compared
	for {
		fan.Mu.Lock()
		stopped, changed := fan.stopped, fan.changed
		enough := fan.subscribed() >= least
		var wanted []tags.Set
		compare := enough && least > 0 && (missing == nil || fan.wanted(*missing))
		if compare {
			wanted = fan.wantedSets()
		}
		fan.Mu.Unlock()
		var err error
		if compare { // the comparison can take long, and the loop needs Mu
			missing, err = tagset.Missing(tags.Union(wanted...), set)
		}
		switch {
		case stopped:
			return ErrStopped
		case err != nil:
			return err
		case enough && (least <= 0 || missing == nil):
			return nil
		}
		if err := mayWait(); err != nil {
			return err
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// subscribed returns how many connections have a subscription whose tags have moved. Mu is held.
func (fan *Fanout) subscribed() int {
	boxes := make(map[*Outbox]struct{})
	for id, n := range fan.lanes {
		if !n.entering && fan.table.Has(id) {
			boxes[n.out] = struct{}{}
		}
	}
	return len(boxes)
}

// wanted reports whether a lane wants a tag, even if it has not moved yet. Mu is held.
func (fan *Fanout) wanted(tag tags.Tag) bool { return len(fan.table.AppendWanting(nil, tag)) > 0 }

// wantedSets returns the sets of all subscriptions whose tags have moved. Mu is held.
func (fan *Fanout) wantedSets() (sets []tags.Set) {
	for id, n := range fan.lanes {
		if !n.entering {
			sets = fan.table.Sets(sets, id)
		}
	}
	return sets
}

// NotifyChanged closes the channels of NextChange: a subscription has changed, or
// something else that the user waits for. Mu is held.
func (fan *Fanout) NotifyChanged() {
	close(fan.changed)
	fan.changed = make(chan struct{})
}

// NextChange returns a channel that is closed at the next NotifyChanged. It takes Mu.
func (fan *Fanout) NextChange() <-chan struct{} {
	fan.Mu.Lock()
	defer fan.Mu.Unlock()
	return fan.changed
}
