// SPDX-License-Identifier: Apache-2.0

package subscribe

import (
	"errors"
	"fmt"
	"log/slog"
	"time"

	"tagbus/bus"
	"tagbus/bus/directory"
	"tagbus/cmd/internal/cli"
	"tagbus/tags"
)

// ownedInterval is the time between two lines about a receiver that has the tags.
const ownedInterval = time.Minute

// ownedError ends a run with --exclusive.
type ownedError struct {
	owner bus.Peer
	tags  tags.Set // that both want
}

// Error names the other receiver, and says what to do.
func (e *ownedError) Error() string {
	return fmt.Sprintf("--exclusive: %v receives %v already: stop it, or leave --exclusive out to wait until it has ended", &e.owner, e.tags)
}

// owners is what the directory says about other receivers of a receiver's tags.
type owners struct {
	dir    directory.Directory
	tags   tags.Set
	before map[string]bool // instances that were there before the receiver
}

// findOwners looks before a receiver is announced.
func findOwners(dir directory.Directory, set tags.Set) *owners {
	o := &owners{dir: dir, tags: set, before: make(map[string]bool)}
	for _, e := range o.rivals() {
		o.before[e.Instance] = true
	}
	return o
}

// rivals returns the receivers in the directory that have some of the tags.
func (o *owners) rivals() (all []directory.Entry) {
	entries, _ := o.dir.List() // the problems are of others: events tell
	for _, e := range entries {
		if e.Role == directory.Receiver && e.Tags.Intersects(o.tags) {
			all = append(all, e)
		}
	}
	return all
}

// first returns a receiver that was there before the one called instance, or nil. Two that
// came at the same time agree on who was first by their instances.
//
//   - refused: a sender has chosen another receiver, whenever it came.
func (o *owners) first(instance string, refused bool) *ownedError {
	for _, e := range o.rivals() {
		if e.Instance == instance || !refused && !o.before[e.Instance] && e.Instance > instance {
			continue
		}
		both := o.tags
		if rest, err := o.tags.Without(e.Tags); err == nil {
			both, _ = o.tags.Without(rest) // no more complex than the difference above, which was possible
		}
		owner := bus.Peer{Instance: e.Instance, Name: e.Name, Host: e.Host, PID: e.PID, Addr: e.Addresses[0]}
		return &ownedError{owner, both}
	}
	return nil
}

// seeOwner takes an event: a sender knows better than the directory which receiver has a
// tag. On the loop.
func (r *run) seeOwner(e bus.Event) {
	switch {
	case e.Kind == bus.Subscribed:
		r.refused.Store(false)
	case e.Kind != bus.Refused || !errors.Is(e.Err, bus.ErrOwned):
	case r.flags.Exclusive:
		r.ending.End("error", fmt.Errorf("--exclusive: %w", e.Err))
	default:
		r.refused.Store(true)
	}
}

// tellOwner says each minute that another receiver has the tags, as long as no sender has
// connected, until the run ends.
func (r *run) tellOwner() {
	if r.owned == nil {
		return
	}
	since := time.Now()
	r.ending.Every(ownedInterval, func() {
		if owned := r.owned(); owned != nil && r.subscriber.Stats().Publishers == 0 {
			r.sayOwned(owned, fmt.Sprintf("still waiting after %v", time.Since(since).Round(time.Minute)))
		}
	})
}

// sayOwned says which receiver is waited for.
func (r *run) sayOwned(owned *ownedError, waiting string) {
	r.console.Tell(slog.LevelWarn, "waiting", cli.PeerFields(&owned.owner), "%s for %v to end: it receives %v, and a tag has one receiver (--exclusive ends instead)",
		waiting, &owned.owner, owned.tags)
}
