// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"errors"
	"log/slog"
	"net/netip"
	"sync"
	"time"

	"tagbus/bus"
	"tagbus/cmd/internal/words"
	"tagbus/internal/sanitize"
)

const (
	// maxEvents is how many events of one kind are written in eventsInterval.
	maxEvents      = 20
	eventsInterval = time.Minute

	eventsNotShown = "%d more %s events not shown"
)

// quota counts the events of one kind. The zero value is ready.
//
// Threads: any.
type quota struct {
	mu      sync.Mutex // held for some steps only
	since   time.Time
	n, more uint64 // since then: written, left out
}

// take reports whether one more event may be written, and how many were left out before
// it, which is then to be said.
func (q *quota) take(now time.Time) (ok bool, leftOut uint64) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if now.Sub(q.since) >= eventsInterval {
		leftOut = q.more
		q.since, q.n, q.more = now, 0, 0
	}
	if q.n == maxEvents {
		q.more++
		return false, 0
	}
	q.n++
	return true, leftOut
}

// forget returns how many events were left out and not said, for the last time.
func (q *quota) forget() (leftOut uint64) {
	q.mu.Lock()
	defer q.mu.Unlock()
	leftOut, q.more = q.more, 0
	return leftOut
}

// leftOutSlot is that of the gaps that a policy makes on purpose: they are many, and must
// not hide those that are losses. No kind has the number 0.
const leftOutSlot = 0

// eventSlots is how many quotas a console has: one more than there are kinds, or more.
const eventSlots = 16

// LeftOut returns an event of a subscription as a command is to show it: what the policy latest
// supersedes in the queue of the command itself is left out on purpose, as on the way there.
func LeftOut(e bus.Event, policy bus.Policy) bus.Event {
	if policy.Kind == bus.Latest && e.Kind == bus.Gap && errors.Is(e.Err, bus.ErrQueueFull) {
		e.Err = bus.ErrLeftOut
	}
	return e
}

func isLeftOut(e bus.Event) bool { return e.Kind == bus.Gap && errors.Is(e.Err, bus.ErrLeftOut) }

// slotOf returns which of the quotas of a console an event counts for.
func slotOf(e bus.Event) int {
	if isLeftOut(e) {
		return leftOutSlot
	}
	return int(e.Kind) % eventSlots
}

// slotName returns what the events of a quota are called.
func slotName(slot int) string {
	if slot == leftOutSlot {
		return "left out"
	}
	return bus.EventKind(slot).String()
}

// Event writes an event of the bus, and what it means. Of each kind only the first 20 in a minute are written. Blocks: never.
func (c *Console) Event(e bus.Event) {
	importance := level(e)
	if !c.enabled(importance) {
		return
	}
	slot := slotOf(e)
	ok, more := c.events[slot].take(time.Now())
	if more > 0 {
		c.try(c.record(slog.LevelWarn, "", nil, eventsNotShown, more, slotName(slot)))
	}
	if !ok {
		return
	}
	c.try(c.record(importance, e.Name(), eventFields(e), "%s%s", words.WithFlags(e.String()), advice(e)))
}

// advice says what an event means and what to do, where its error does not.
func advice(e bus.Event) string {
	switch {
	case e.Kind == bus.Vanished:
		return ": it went without goodbye: how many of its last messages are missing is not known"
	case e.Kind == bus.Gap && !isLeftOut(e):
		return ": these messages are lost"
	case e.Kind == bus.Announced && OnlyLoopback(e.Addresses):
		return ", which only this host can reach: it has no address now that others reach"
	default:
		return ""
	}
}

// PeerFields are the fields of a record about a peer: what it calls itself before what
// tells it from all others.
func PeerFields(p *bus.Peer) []slog.Attr {
	if p == nil {
		return nil
	}
	var fields []slog.Attr
	add := func(key, value string) {
		if value != "" {
			fields = append(fields, slog.String(key, value))
		}
	}
	add("name", p.Name)
	add("instance", p.Instance)
	add("host", p.Host)
	if p.PID != 0 {
		fields = append(fields, slog.Int("pid", p.PID))
	}
	if p.Addr.IsValid() {
		add("addr", p.Addr.String())
	}
	add("backend", p.Backend)
	return fields
}

// Self returns what a program calls itself in a line for people: its name first, and how
// to tell its instance from others.
func (c *Common) Self(instance string) string {
	short := bus.ShortInstance(instance)
	if c.Name == "" {
		return short
	}
	return c.Name + " (" + short + ")"
}

// SelfFields are the fields of a record about the program itself.
//
//   - addr: where it listens, if it does.
func (c *Common) SelfFields(instance string, addr netip.AddrPort) []slog.Attr {
	return PeerFields(&bus.Peer{Name: c.Name, Instance: instance, Addr: addr})
}

// maxTagsBytes bounds the text of a set in a record.
const maxTagsBytes = 1000

// eventFields are the fields of a record about an event.
func eventFields(e bus.Event) []slog.Attr {
	fields := PeerFields(e.Peer)
	if e.Other != nil {
		fields = append(fields, slog.Attr{Key: "other", Value: slog.GroupValue(PeerFields(e.Other)...)})
	}
	if !e.Tags.IsEmpty() {
		fields = append(fields, slog.String("tags", sanitize.Cut(e.Tags.String(), maxTagsBytes)))
	}
	if e.Kind == bus.Gap {
		fields = append(fields, slog.String("tag", e.Tag.String()), slog.Uint64("count", e.Count))
	}
	if len(e.Addresses) > 0 {
		fields = append(fields, slog.String("addresses", sanitize.Some(e.Addresses)))
	}
	if e.Err != nil {
		fields = append(fields, slog.String("cause", cause(e)))
	}
	return fields
}

// gapCauses are the causes of gaps, in the words of the metrics and of --json.
var gapCauses = map[error]string{
	bus.ErrTooSlow: "full", bus.ErrPublisherMemory: "memory", bus.ErrConnectionLost: "connection",
	bus.ErrPublisherEnded: "ended", bus.ErrLeftOut: "left_out", bus.ErrQueueFull: "overflowed",
}

// cause returns why an event is: for a gap a word, else the text of its error.
func cause(e bus.Event) string {
	if e.Kind == bus.Gap {
		for err, word := range gapCauses {
			if errors.Is(e.Err, err) {
				return word
			}
		}
	}
	return Text(e.Err)
}

// level returns how important an event is.
func level(e bus.Event) slog.Level {
	switch {
	case isLeftOut(e): // as it was asked for
		return slog.LevelDebug
	case e.Name() == "left": // in order
		return slog.LevelInfo
	case e.Kind == bus.Lost, e.Kind == bus.Refused, e.Kind == bus.Gap, e.Kind == bus.Vanished,
		e.Kind == bus.Problem, e.Kind == bus.Stalled, e.Kind == bus.Duplicate,
		e.Kind == bus.Announced && OnlyLoopback(e.Addresses):
		return slog.LevelWarn
	default:
		return slog.LevelInfo
	}
}
