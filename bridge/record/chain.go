// SPDX-License-Identifier: Apache-2.0

package record

// Chain follows the records of one publisher and tag in the order of the log. The zero value has seen none.
type Chain struct {
	next uint64
}

// Next returns the counter at which the next record should begin; 0 if none has come.
func (c *Chain) Next() uint64 { return c.next }

// Follow goes on by a record, and returns what of it is new.
//
//   - from: the first counter that no record before has covered. From Next of the record on, all of it
//     has come before; of a Begin or End it is Next.
//   - hole: how many counters between the record and those before are in no record. A log that is
//     whole has none: its retention has dropped them, or another program has written to it.
func (c *Chain) Follow(r *Record) (from, hole uint64) {
	from = r.First
	switch {
	case c.next == 0:
	case r.First < c.next:
		from = min(c.next, r.Next())
	default:
		hole = r.First - c.next
	}
	c.next = max(c.next, r.Next())
	return from, hole
}
