// SPDX-License-Identifier: Apache-2.0

//go:build linux

// Package offers says which publishers there are while none of them has the wanted tags, and
// which receivers, or that there is no sender.
package offers

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"tagbus/bus"
	"tagbus/bus/directory"
	"tagbus/bus/directory/file"
	"tagbus/cmd/internal/cli"
	"tagbus/internal/backoff"
	"tagbus/tags"
)

// interval is how long no publisher may be connected before it is said whether there are
// others, and how often that is looked up while there is none at all.
const interval = 2 * time.Second

// heldAfter is how long a message may wait, though a receiver is listed for its tag, before that is said.
const heldAfter = 10 * time.Second

// Subscriber is what is asked, as *bus.Subscriber.
type Subscriber interface {
	Stats() bus.SubscriberStats
	Offers(ctx context.Context, wanted tags.Set) (bus.Offers, error)
}

// Tell says which publishers there are if none of them has the tags: at first, and again
// after pauses that grow, until done is closed.
//
//   - d: where they are looked for, which says itself that it does not answer; nil: it always does.
func Tell(c *cli.Console, s Subscriber, d directory.Directory, wanted tags.Set, done <-chan struct{}) {
	tell(c, d, done, search{
		wanted: func() (tags.Set, bool) { return wanted, s.Stats().Publishers == 0 },
		offers: s.Offers,
		empty:  "the bus has no publisher: start one with the same --bus, or check --bus; this command waits for it",
		other:  "publisher",
	})
}

// Sender is what is asked, as *bus.Sender.
type Sender interface {
	Offers(ctx context.Context, wanted tags.Set) (bus.Offers, error)
}

// TellSender says which receivers there are if none of them has the tags, as Tell does.
//
//   - wanted: returns the tags, and reports whether they have no receiver, or a message waits for another reason.
//   - sent: returns how many messages were sent.
func TellSender(c *cli.Console, s Sender, d directory.Directory, wanted func() (tags.Set, bool), sent func() uint64, done <-chan struct{}) {
	tell(c, d, done, search{
		wanted: wanted,
		offers: s.Offers,
		empty:  "the bus has no receiver: start subscriber --receive with the same --bus and --tags, or check --bus; this command waits for it",
		other:  "receiver",
		sent:   sent,
	})
}

// TellReceiver says that no sender is connected, once, if it is so for a while before done is
// closed. Which others there are a receiver cannot see.
func TellReceiver(c *cli.Console, senders func() int, done <-chan struct{}) {
	select {
	case <-time.After(interval):
		if senders() == 0 {
			c.Tell(slog.LevelInfo, "waiting", nil, "no sender is connected: start publisher --send with the same --bus and --tags, or check --bus; this command waits for it")
		}
	case <-done:
	}
}

// search is what is looked for.
type search struct {
	wanted func() (set tags.Set, missing bool)
	offers func(context.Context, tags.Set) (bus.Offers, error)
	empty  string // what is said if there is no peer
	other  string // what the peers are

	sent func() uint64 // nil: nothing is sent
}

// nothing returns what is said if there is no peer.
func (s *search) nothing(d directory.Directory) string {
	if d != nil {
		if _, err := d.List(); errors.Is(err, directory.ErrHidden) { // of some problem
			return fmt.Sprintf("the directory shows no %s, and is not read whole, as its problem says: what it hides may be one; this command waits for it", s.other)
		}
	}
	return s.empty
}

// shownTags limits what is shown of tags, in bytes.
const shownTags = 100

// held is how long nothing was sent.
type held struct {
	sent  uint64
	since time.Time
}

// lasts reports whether nothing was sent for long.
func (h *held) lasts(s *search, now time.Time) bool {
	if s.sent == nil {
		return false
	}
	if n := s.sent(); h.since.IsZero() || n != h.sent {
		*h = held{n, now}
	}
	return now.Sub(h.since) >= heldAfter
}

// tell looks until done is closed.
func tell(c *cli.Console, d directory.Directory, done <-chan struct{}, s search) {
	tick := time.NewTicker(interval)
	defer tick.Stop()
	var again backoff.Reminder // since others are there
	saidEmpty := false
	var stuck held
	for {
		select {
		case <-tick.C:
		case <-done:
			return
		}
		wanted, missing := s.wanted()
		if !missing {
			again, stuck = backoff.Reminder{}, held{}
			continue
		}
		lasts := stuck.lasts(&s, time.Now())
		if !again.Due(time.Now()) {
			continue
		}
		ctx, cancel := context.WithTimeout(context.Background(), interval)
		found, err := s.offers(ctx, wanted)
		cancel()
		switch {
		case err != nil: // it costs next to nothing to look again
			again = backoff.Reminder{}
		case found.Publishers == 0:
			again = backoff.Reminder{}
			if !saidEmpty && answers(d) {
				saidEmpty = true
				c.Tell(slog.LevelInfo, "waiting", nil, "%s", s.nothing(d))
			}
		case found.None():
			c.Tell(slog.LevelWarn, "waiting", nil, "%v; check --tags, or wait for a %s that has them", found, s.other)
		case lasts:
			text, _ := wanted.Short(shownTags)
			c.Tell(slog.LevelWarn, "waiting", nil, "nothing was sent for %v: %s has a receiver here, and it takes nothing of it from this command: a policy (--acl) there or here does not allow that, it cannot be reached, or it is slow: look at its log, and run tagbus check",
				time.Since(stuck.since).Truncate(time.Second), text)
		case s.sent != nil: // it may be about to connect
			again = backoff.Reminder{}
		}
	}
}

// answers reports whether a directory answers. What is not there is not known of one that does not,
// except of a folder that is missing: it has nothing.
func answers(d directory.Directory) bool {
	reporter, ok := d.(directory.StatsReporter)
	if !ok || reporter.Stats().Up {
		return true
	}
	_, err := d.List()
	return errors.Is(err, file.ErrVanished)
}
