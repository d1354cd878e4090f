// SPDX-License-Identifier: Apache-2.0

package subscription

import "fmt"

// Lost says which messages of a lane the subscriber does not get: for each tag
// how many, between those before and those after.
type Lost struct {
	Lane  uint16 `msgpack:"lane,omitempty"`
	Cause Cause  `msgpack:"cause"`
	List  []byte `msgpack:"list"` // see AppendPosition; counts, not positions. Not empty.

	// Total says that the counts are those since the subscriber first asked for
	// the tags, over all its connections. Such messages come before the
	// Positions of an acknowledgement. Any excess over the subscriber's own
	// counts was lost with a connection.
	Total bool `msgpack:"total,omitempty"`
}

// Missed is the subscriber's answer to an acknowledgement: by how much its
// counts of lost messages exceed the totals that the publisher has just told.
// With that both ends count the same.
type Missed struct {
	Lane  uint16 `msgpack:"lane,omitempty"`
	Cause Cause  `msgpack:"cause"`
	List  []byte `msgpack:"list"` // see AppendPosition; counts, not positions. Not empty.
}

// Cause says why a subscriber does not get messages. It is part of the wire
// protocol.
type Cause uint16

// The causes.
const (
	CauseFull       Cause = iota + 1 // the lane held as much as it may
	CauseMemory                      // the lossy lanes of the publisher together did, or its pool was empty
	CauseLeftOut                     // the policy has left them out on purpose
	CauseConnection                  // under way or published when there was no connection

	// Causes is one more than the largest: the size of an array by cause.
	Causes
)

// Kind implements Message.
func (*Lost) Kind() Kind { return KindLost }

// Kind implements Message.
func (*Missed) Kind() Kind { return KindMissed }

func (m *Lost) validate() error   { return checkLosses(m.Cause, m.List) }
func (m *Missed) validate() error { return checkLosses(m.Cause, m.List) }

func checkLosses(c Cause, list []byte) error {
	if c == 0 || c >= Causes {
		return fmt.Errorf("unknown cause %d", c)
	}
	return checkFilled("list", list)
}
