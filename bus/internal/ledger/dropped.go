// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"slices"

	"tagbus/bus/internal/positions"
	"tagbus/subscription"
	"tagbus/tags"
)

// Dropping is what a subscriber has received of a lane and lost again, and what of that the
// publisher is to be told: the other end of Lane.Drop. The zero value is nothing.
//
// Threads: one at a time.
type Dropping struct {
	causes [subscription.AllCauses - Queue]dropping
}

// dropping is what is lost for one cause.
type dropping struct {
	all     uint64            // messages since the publisher was first met
	told    uint64            // of those, on this connection
	changed map[tags.Tag]bool // since it was told; of too many, some
	named   map[tags.Tag]bool // told on this connection: the end of it may lose that; of too many, some
}

// maxChanged is how many tags one report names: their list fits a control message.
const maxChanged = (subscription.MaxControlBytes - 128) / subscription.MaxPositionBytes

// Add counts messages of a tag.
//
//   - cause: Queue or Panic.
func (d *Dropping) Add(cause subscription.Cause, tag tags.Tag, messages uint64) {
	c := &d.causes[cause-Queue]
	c.all = min(c.all+messages, positions.Max)
	add(&c.changed, tag)
}

// add adds a tag to some, unless they are too many.
func add(to *map[tags.Tag]bool, tag tags.Tag) {
	if len(*to) >= maxChanged {
		return
	}
	if *to == nil {
		*to = make(map[tags.Tag]bool)
	}
	(*to)[tag] = true
}

// News calls f for each cause of which the publisher is to be told more. They count as told
// then.
//
//   - named: tags of which messages were lost since the last call, ascending; on a new connection
//     those of the connection before, too.
func (d *Dropping) News(f func(cause subscription.Cause, messages uint64, named []tags.Tag)) {
	for i := range d.causes {
		c := &d.causes[i]
		if c.all == c.told {
			continue
		}
		named := make([]tags.Tag, 0, len(c.changed))
		for tag := range c.changed {
			named = append(named, tag)
			add(&c.named, tag)
		}
		slices.Sort(named)
		clear(c.changed)
		c.told = c.all
		f(Queue+subscription.Cause(i), c.all, named)
	}
}

// Pending reports whether there is something for News.
func (d *Dropping) Pending() bool {
	return slices.ContainsFunc(d.causes[:], func(c dropping) bool { return c.all != c.told })
}

// Disconnected notes the end of the connection: the next one is told all again.
func (d *Dropping) Disconnected() {
	for i := range d.causes {
		c := &d.causes[i]
		c.told = 0
		for tag := range c.named {
			add(&c.changed, tag)
		}
		clear(c.named)
	}
}

// dropped is what a subscriber has said of one cause of Dropped.
type dropped struct {
	before uint64 // by subscribers of this instance that did not remember it
	said   uint64 // since then
}

// Drop takes over how many messages of a lane the subscriber has received and lost again.
//
//   - total: since it first met the publisher. If that is less than before, the subscriber has
//     forgotten the publisher meanwhile, and counts from 0.
func (a *Lane) Drop(cause subscription.Cause, total uint64) {
	now := a.clock.Now()
	a.mu.Lock()
	defer a.mu.Unlock()
	d := &a.dropped[cause-Queue]
	if total < d.said {
		d.before += d.said
	}
	d.said = total
	if all := min(d.before+total, positions.Max); all > a.total[cause] {
		a.total[cause] = all
		a.times.Note(cause, now)
	}
}

// DropTag takes over how many of these messages were of one tag.
func (a *Lane) DropTag(cause subscription.Cause, tag tags.Tag, total uint64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	counts := a.counts(tag)
	counts[cause] = max(counts[cause], total)
}
