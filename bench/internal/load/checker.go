// SPDX-License-Identifier: Apache-2.0

package load

import (
	"bytes"
	"encoding/binary"
)

// Checker checks what a subscriber receives, and tells when all is there.
//
// Threads: one at a time.
type Checker struct {
	next     []uint64 // sequence, by lane
	pattern  []byte
	command  int // bytes of messages of lane 1; 0: as the others
	stamped  bool
	mask     uint64 // sampleMask, or 0
	result   SubResult
	seen     uint64 // received at the last end message
	quiet    int    // end messages since received has grown
	finished bool
}

// quietEnds is how many end messages in a row, at intervals of EndInterval, a
// subscriber waits for what is missing.
const quietEnds = 20

// NewChecker returns a checker for a run.
func NewChecker(o Options) *Checker {
	c := &Checker{
		next: make([]uint64, o.Tags*max(1, o.Producers)), pattern: NewMessage(o.Size),
		command: o.Command, stamped: o.Work == WorkOpenLoop, result: SubResult{Role: RoleSub},
	}
	if !o.ReadAll {
		c.mask = sampleMask
	}
	if c.stamped {
		c.result.Latency = NewHistogram()
	}
	return c
}

// Take checks a message, and reports whether it was the last.
func (c *Checker) Take(b []byte) bool {
	if len(b) < HeaderBytes {
		c.result.Corrupt++
		return false
	}
	sequence, lane := binary.LittleEndian.Uint64(b), binary.LittleEndian.Uint32(b[8:])
	if len(b) != len(c.pattern) && (lane != 1 || len(b) != c.command) || binary.LittleEndian.Uint32(b[12:]) != check(sequence, lane) {
		c.result.Corrupt++
		return false
	}
	if uint(lane) >= uint(len(c.next)) {
		return c.end(sequence, lane)
	}
	if sequence != c.next[lane] {
		c.skip(sequence, c.next[lane])
	}
	c.next[lane] = sequence + 1
	if sequence&c.mask == 0 {
		c.sample(b)
	}
	if c.stamped {
		c.arrived(int64(binary.LittleEndian.Uint64(b[16:])))
	}
	c.result.Received++
	return false
}

// arrived notes the latency of a message; that of bulk beside commands does not count.
func (c *Checker) arrived(due int64) {
	if due != 0 {
		c.result.Latency.Record(Now() - due)
	}
}

// Count counts messages that are not checked.
func (c *Checker) Count(n int) { c.result.Received += uint64(n) }

func (c *Checker) skip(got, want uint64) {
	if got < want {
		c.result.Disordered++
	}
}

func (c *Checker) sample(b []byte) {
	c.result.Sampled++
	if !bytes.Equal(b[HeaderBytes:], c.pattern[HeaderBytes:len(b)]) {
		c.result.Corrupt++
	}
}

// end notes an end message. It is published again and again, since some systems
// lose messages.
func (c *Checker) end(total uint64, lane uint32) bool {
	if lane != EndLane {
		c.result.Corrupt++
		return false
	}
	if c.finished {
		return false
	}
	if c.result.Received != c.seen || c.result.LastNS == 0 {
		c.seen, c.quiet, c.result.LastNS = c.result.Received, 0, Now()
	} else {
		c.quiet++
	}
	c.finished = c.result.Received >= total || c.quiet >= quietEnds
	return c.finished
}

// Result returns what was received. Call it when Take has returned true.
func (c *Checker) Result() SubResult { return c.result }
