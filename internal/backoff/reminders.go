// SPDX-License-Identifier: Apache-2.0

package backoff

import "time"

// Limits of Reminders, whatever others do to be told of.
const (
	maxKeys  = 1024 // that are remembered; with more all are said again
	maxTexts = 16   // of a key that are said for themselves; the others are said as one
)

// Reminders are about many things that come again and again, each with a key and a text. The
// zero value is ready.
//
// Threads: one at a time.
type Reminders[K comparable] struct{ of map[K]*reminders }

// reminders are those of a key.
type reminders struct {
	told map[string]*counted // by the text
	rest counted             // all others
}

// counted is a Reminder with how often its thing has come since it was said last.
type counted struct {
	Reminder
	times uint64
}

// Due notes that a thing has come, and reports whether to say it now.
//
//   - times: if so, how often it has come since it was said last, with this time.
func (r *Reminders[K]) Due(now time.Time, key K, text string) (times uint64, due bool) {
	c := r.find(key, text)
	if c.times++; !c.Due(now) {
		return 0, false
	}
	times, c.times = c.times, 0
	return times, true
}

// find returns what is known of a thing.
func (r *Reminders[K]) find(key K, text string) *counted {
	all := r.of[key]
	if all == nil {
		if r.of == nil || len(r.of) >= maxKeys {
			r.of = make(map[K]*reminders)
		}
		all = &reminders{told: make(map[string]*counted)}
		r.of[key] = all
	}
	c := all.told[text]
	switch {
	case c != nil:
	case len(all.told) >= maxTexts:
		c = &all.rest
	default:
		c = new(counted)
		all.told[text] = c
	}
	return c
}
