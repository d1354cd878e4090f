// SPDX-License-Identifier: Apache-2.0

package recording

import (
	"errors"
	"fmt"
	"time"

	"tagbus/bus"
	"tagbus/internal/sanitize"
	"tagbus/tags"
)

// EventKind says what happened. The numbers are those of the file.
type EventKind uint8

const (
	// Joined means that Peer sends the messages of Tags from here on. A publisher that
	// comes back after Lost joins again.
	Joined EventKind = iota + 1

	// Position means that the messages of Tag from Peer up to the number Count are not
	// part of the recording: it begins behind them, or goes on behind them.
	Position

	// Gap means that Count messages of Tag from Peer are missing; Cause says why.
	// It stands near the place where they are missing, not always exactly there.
	Gap

	// Lost means that the connection to Peer has ended; Text says why. It may come back.
	// Behind Ended it means nothing.
	Lost

	// Ended means that Peer has said goodbye: everything it published is here, or
	// in a Gap. Failed: it has ended because something failed there; Text says what.
	Ended

	// Vanished means that Peer is gone without goodbye. How many of its last messages
	// are missing is unknown.
	Vanished

	// Stopped means that the recorder has ended; Text says why. Failed: with more it would
	// have recorded more, for example with room on the disk, or with tags that were denied to it.
	Stopped

	// Stepped means that the clock of the recorder was set while it recorded: times behind it
	// are later by Step than they would have been.
	Stepped
)

var eventNames = [...]string{
	Joined: "joined", Position: "position", Gap: "gap", Lost: "lost",
	Ended: "ended", Vanished: "vanished", Stopped: "stopped", Stepped: "stepped",
}

// String returns the kind's name.
func (k EventKind) String() string {
	if k > 0 && int(k) < len(eventNames) {
		return eventNames[k]
	}
	return fmt.Sprintf("event %d", int(k))
}

// Cause is the reason of a Gap. The numbers are those of the file.
type Cause uint8

// The causes. The errors are those of the bus that they stand for.
const (
	CauseOther      Cause = iota // Event.Text says what
	CauseFull                    // bus.ErrTooSlow
	CauseMemory                  // bus.ErrPublisherMemory
	CauseConnection              // bus.ErrConnectionLost
	CauseEnded                   // bus.ErrPublisherEnded
	CauseLeftOut                 // bus.ErrLeftOut: by the policy, on purpose
	CauseQueueFull               // bus.ErrQueueFull: of the recorder's own subscription
	causes
)

var causeNames = [causes]string{"other", "full", "memory", "connection", "ended", "left-out", "queue-full"}

// String returns the cause's name.
func (c Cause) String() string {
	if c < causes {
		return causeNames[c]
	}
	return fmt.Sprintf("cause %d", int(c))
}

// causeErrors are the errors of the bus for each cause.
var causeErrors = [causes]error{
	CauseFull: bus.ErrTooSlow, CauseMemory: bus.ErrPublisherMemory, CauseConnection: bus.ErrConnectionLost,
	CauseEnded: bus.ErrPublisherEnded, CauseLeftOut: bus.ErrLeftOut, CauseQueueFull: bus.ErrQueueFull,
}

// Event is a record that is not a message: something that happened on the bus or to the
// recorder, in its place among the messages. Fields that the kind does not name are zero.
type Event struct {
	Kind   EventKind
	Time   time.Time
	Peer   *bus.Peer // nil: Stopped, Stepped
	Tags   tags.Set  // Joined
	Tag    tags.Tag  // Position, Gap
	Count  uint64    // Gap: messages; Position: the number of the last message before; Stepped: Step
	Cause  Cause     // Gap
	Failed bool      // Ended, Stopped
	Text   string    // the reason, for people
}

// EventOf returns the event of a recording for one of a subscriber, and reports whether
// there is one: an event that changes nothing about what is recorded has none.
//
//	bus.Subscribed, bus.Resubscribed   Joined
//	bus.Gap                            Gap
//	bus.Lost                           Lost, if it has an error
//	bus.Goodbye                        Ended
//	bus.Vanished                       Vanished
func EventOf(e bus.Event, at time.Time) (Event, bool) {
	r := Event{Time: at, Peer: e.Peer}
	if e.Err != nil {
		r.Text = sanitize.Error(e.Err)
	}
	switch e.Kind {
	case bus.Subscribed, bus.Resubscribed:
		r.Kind, r.Tags = Joined, e.Tags
	case bus.Gap:
		r.Kind, r.Tag, r.Count = Gap, e.Tag, e.Count
		for c, err := range causeErrors {
			if err != nil && errors.Is(e.Err, err) {
				r.Cause, r.Text = Cause(c), ""
			}
		}
	case bus.Lost:
		if e.Err == nil {
			return Event{}, false // the subscriber itself has left
		}
		r.Kind = Lost
	case bus.Goodbye:
		r.Kind, r.Failed = Ended, e.Err != nil
	case bus.Vanished:
		r.Kind = Vanished
	default:
		return Event{}, false
	}
	return r, true
}

// String returns the event as a line for people, without its time.
func (e Event) String() string {
	s := e.Kind.String()
	if e.Peer != nil {
		s += " " + e.Peer.String()
	}
	switch e.Kind {
	case Joined:
		text, all := e.Tags.Short(120)
		if s += " tags " + text; !all {
			s += fmt.Sprintf("... (%d parts)", e.Tags.Parts())
		}
	case Position:
		s += fmt.Sprintf(" tag %v begins behind message %d", e.Tag, e.Count)
	case Gap:
		s += fmt.Sprintf(" %d messages of tag %v: %v", e.Count, e.Tag, e.Cause)
	case Lost, Ended, Vanished, Stopped:
		if e.Failed {
			s += " by a failure"
		}
	case Stepped: // Text says it
	}
	if e.Text != "" {
		s += ": " + sanitize.Line(e.Text)
	}
	return s
}
