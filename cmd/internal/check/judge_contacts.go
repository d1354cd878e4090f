// SPDX-License-Identifier: Apache-2.0

package check

import (
	"time"

	"tagbus/bus/directory"
	"tagbus/cmd/internal/overview"
	"tagbus/internal/sanitize"
)

const (
	// dialing is how long a program may need until it is connected to what is there: an address
	// that does not answer takes some of it.
	dialing = 15 * time.Second

	// waiting is how long a program may wait for publishers, or receivers, that are still to come,
	// as the alert TagbusNoPublisher has it.
	waiting = time.Minute
)

// judgeContacts says which subscribers and senders are connected to none of those that have what
// they want, or not to all of them.
func judgeContacts(s *seen) []Finding {
	f := &findings{group: "contacts"}
	contacts := overview.NewContacts(s.everyone())
	for _, d := range s.dialers {
		f.contact(d, s.at, contacts.Of(&d))
	}
	if len(s.dialers) > 0 {
		f.ok(s.bus, "%s connected to all that they want, as far as that is there", count(len(s.dialers), "subscriber or sender is", "subscribers and senders are"))
	}
	return f.sorted()
}

// contact says what is wrong with what a client is connected to. One that has gone from where it was
// is told of already, and of one that may be connected nothing is known.
func (f *findings) contact(d directory.Entry, at time.Time, c overview.Contact) {
	if c.Gone || c.Unchecked {
		return
	}
	const do = "start one that has them, or correct its --tags or --bus"
	wanted := sanitize.Cut(d.Tags.String(), shownTags)
	switch {
	case len(c.Lacking) > 0:
		l := levelAfter(dialing, at, &d)
		f.of(&d, l, "not-connected", "look at its refused and lost lines, and run tagbus check on its host",
			"it is not connected to %s, with tags that it wants", overview.NamesOf(c.Lacking))
	case len(c.Connected)+len(c.Untold) > 0:
	case d.Role == directory.Sender:
		l := levelAfter(waiting, at, &d)
		f.of(&d, l, "no-receiver", do, "it waits: no receiver here has a tag that it wants, of %s", wanted)
	default:
		l := levelAfter(waiting, at, &d)
		f.of(&d, l, "no-publisher", do, "it waits: no publisher here has a tag that it wants, of %s", wanted)
	}
}

// levelAfter returns how bad it is that a client waits. The clock of its host may be ahead.
func levelAfter(patience time.Duration, at time.Time, d *directory.Entry) Level {
	if age := at.Sub(d.Since); age >= 0 && age < patience {
		return Note
	}
	return Warning
}
