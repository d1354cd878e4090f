// SPDX-License-Identifier: Apache-2.0

package check

import (
	"slices"
	"time"

	"tagbus/bus/directory"
	"tagbus/cmd/internal/overview"
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
	connected, unchecked := 0, 0
	for _, d := range s.dialers {
		c := contacts.Of(&d)
		f.denied(d, c.Denied)
		lacking := slices.DeleteFunc(c.Lacking, func(r *overview.Row) bool { return slices.Contains(c.Missed, r) }) // which tell that themselves
		switch {
		case c.Unchecked:
			unchecked++
		case len(lacking) > 0:
			l := levelAfter(dialing, s.at, &d)
			f.of(&d, l, "not-connected", "look at its refused and lost lines, and run tagbus check on its host",
				"it is not connected to %s, with tags that it wants", overview.NamesOf(lacking))
		case len(c.Missed) > 0:
		case len(c.Untold) > 0: // it may be connected
		case len(c.Connected) > 0:
			if len(c.Denied) == 0 {
				connected++
			}
		default:
			f.waits(d, levelAfter(waiting, s.at, &d))
		}
	}
	if unchecked > 0 {
		f.add(Note, "contacts-unchecked", s.bus, "look at one of them: tagbus info NAME",
			"the tags of %s were too many to be compared with those of publishers and receivers, so that it is not known what they lack", count(unchecked, "subscriber or sender", "subscribers and senders"))
	}
	if connected > 0 {
		f.ok(s.bus, "%d of %s connected to all that they want", connected, count(len(s.dialers), "subscriber or sender is", "subscribers and senders are"))
	}
	return f.sorted()
}

// denied says what the policies of publishers do not let a client have.
func (f *findings) denied(d directory.Entry, denials []overview.Denial) {
	if len(denials) == 0 {
		return
	}
	by := make([]*overview.Row, len(denials))
	for i := range denials {
		by[i] = denials[i].By
	}
	if d.Role == directory.Sender {
		f.of(&d, Warning, overview.TagsDenied, "let the policy there (--acl) allow it to send to them, or take them from its --tags",
			"the policy of %s does not let it send %s, and messages of these tags wait", overview.NamesOf(by), denials[0].Tags)
		return
	}
	f.of(&d, Warning, overview.TagsDenied, "let the policy there (--acl) allow it to subscribe to them, or take them from its --tags",
		"the policy of %s does not let it have %s, which it wants", overview.NamesOf(by), denials[0].Tags)
}

// waits says that a client is connected to nothing because there is nothing that it wants.
func (f *findings) waits(d directory.Entry, l Level) {
	const do = "start one that has them, or correct its --tags or --bus"
	wanted, all := d.Tags.Short(shownTags)
	if !all {
		wanted += " and others"
	}
	if d.Role == directory.Sender {
		f.of(&d, l, "no-receiver", do, "it waits: no receiver here has a tag that it wants, of %s", wanted)
		return
	}
	f.of(&d, l, "no-publisher", do, "it waits: no publisher here has a tag that it wants, of %s", wanted)
}

// levelAfter returns how bad it is that a client waits. The clock of its host may be ahead.
func levelAfter(patience time.Duration, at time.Time, d *directory.Entry) Level {
	if age := at.Sub(d.Since); age >= 0 && age < patience {
		return Note
	}
	return Warning
}
