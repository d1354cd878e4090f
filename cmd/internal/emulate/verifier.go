// SPDX-License-Identifier: Apache-2.0

package emulate

import (
	"fmt"
	"math"
	"time"

	"tagbus/bus"
	"tagbus/cmd/internal/latency"
	"tagbus/tags"
)

// Verifier checks messages of a Generator as a subscriber receives them. The
// zero value is ready.
//
// What the bus reports as lost is not an error here: the counters of the bus
// jump as those in the messages do. What a publisher has made before the first message that is
// received of a tag is not looked for.
//
// Threads: one at a time.
type Verifier struct {
	Corrupt    uint64 // messages with other bytes than were made
	Duplicates uint64 // messages received again, or behind a later one
	Missing    uint64 // messages that the bus has neither delivered nor reported

	// Latency is of the messages that are stamped.
	Latency latency.Histogram

	publishers map[string]map[tags.Tag]*last // by instance
	peer       *bus.Peer                     // of the message before
	byTag      map[tags.Tag]*last            // of that peer
}

// last is what a verifier remembers of a tag of one publisher.
type last struct {
	counter uint64 // that the bus gave
	first   uint64 // of these
	jumped  uint64 // how many counters have been passed over
	ahead   int64  // how far the counter in the message was ahead of that
}

// Check checks the next message.
//
//   - Errors: ErrCorrupt, ErrDuplicate or ErrMissing, wrapped with the tag
//     and details, and counted.
//   - Allocates: no, except for the first message of a tag and for errors.
func (v *Verifier) Check(m bus.Message) error {
	counter, bits, err := open(m.Data)
	if err != nil {
		v.Corrupt++
		return fmt.Errorf("tag %v message %d: %w", m.Tag, m.Counter, err)
	}
	before := v.last(m)
	begins := before.counter == 0
	if m.Counter <= before.counter {
		v.Duplicates++
		return fmt.Errorf("tag %v message %d: %w: the last was %d", m.Tag, m.Counter, ErrDuplicate, before.counter)
	}
	if before.counter > 0 {
		before.jumped += m.Counter - before.counter - 1
	}
	if begins {
		before.first = m.Counter
	}
	before.counter = m.Counter
	if stamp, ok := stampOf(m.Data); ok {
		v.Latency.Record(time.Since(stamp))
	}
	// Sign-extended, because of a short message only the lowest bits are known.
	moved := int64(counter-m.Counter-uint64(before.ahead)) << (64 - bits) >> (64 - bits)
	before.ahead += moved
	switch {
	case begins: // what was before may be of another time, as in a replay of the middle of a run
	case moved > 0:
		v.Missing += uint64(moved)
		return fmt.Errorf("tag %v message %d: %w: %d before it", m.Tag, m.Counter, ErrMissing, moved)
	case moved < 0:
		v.Duplicates++
		return fmt.Errorf("tag %v message %d: %w: its content is %d too old", m.Tag, m.Counter, ErrDuplicate, -moved)
	}
	return nil
}

// Compare compares the counters that the bus has passed over with what it has
// reported of a tag of a publisher as lost or left out. What it has not reported
// counts as missing.
//
//   - Errors: ErrMissing, wrapped with the tag and the number.
func (v *Verifier) Compare(instance string, tag tags.Tag, reported uint64) error {
	return v.miss(v.publishers[instance][tag], tag, reported, math.MaxUint64)
}

// CompareParts is Compare for a tag that this side did not have all the time, as a policy has taken it
// for a while. What was published then is not missing.
//
//   - published: in the time in which it had the tag.
func (v *Verifier) CompareParts(instance string, tag tags.Tag, reported, published uint64) error {
	l := v.publishers[instance][tag]
	if l == nil {
		return nil
	}
	received := l.counter - l.first + 1 - l.jumped
	return v.miss(l, tag, reported, published-min(published, received+reported))
}

// miss counts the messages of a tag that are missing, at most so many.
func (v *Verifier) miss(l *last, tag tags.Tag, reported, most uint64) error {
	if l == nil || l.jumped <= reported || most == 0 {
		return nil
	}
	n := min(l.jumped-reported, most)
	v.Missing += n
	return fmt.Errorf("tag %v: %w: %d in all", tag, ErrMissing, n)
}

// last returns what is known of the tag of m.
func (v *Verifier) last(m bus.Message) *last {
	if m.Publisher != v.peer || v.byTag == nil {
		v.peer = m.Publisher
		instance := ""
		if m.Publisher != nil {
			instance = m.Publisher.Instance
		}
		if v.publishers == nil {
			v.publishers = make(map[string]map[tags.Tag]*last)
		}
		v.byTag = v.publishers[instance]
		if v.byTag == nil {
			v.byTag = make(map[tags.Tag]*last)
			v.publishers[instance] = v.byTag
		}
	}
	l := v.byTag[m.Tag]
	if l == nil {
		l = new(last)
		v.byTag[m.Tag] = l
	}
	return l
}
