package load

import (
	"bytes"
	"encoding/binary"
)

// A message begins with a header of HeaderBytes, little-endian; what follows is
// a pattern that depends on the position only.
//
//	offset  bytes  content
//	0       8      sequence: 0, 1, … in its lane
//	8       4      lane: producer × tags + tag, or EndLane
//	12      4      check of these two
//	16      8      when it was due, ns of CLOCK_MONOTONIC; 0 when that is not measured
//
// A message of EndLane says how many messages came before: in its sequence.
const (
	HeaderBytes = 24
	EndLane     = 1<<32 - 1

	// sampleMask: of how many messages of a lane one is compared byte by byte.
	sampleMask = 1<<10 - 1
)

// check binds sequence and lane, so that bytes of another message, or none, are
// noticed.
func check(sequence uint64, lane uint32) uint32 {
	return uint32(((sequence ^ uint64(lane)<<32) * 0x9E3779B97F4A7C15) >> 32)
}

// NewMessage returns a message of a size, with its pattern.
func NewMessage(size int) []byte {
	b := make([]byte, size)
	Fill(b)
	return b
}

// Fill writes the pattern into a message.
func Fill(b []byte) {
	for i := HeaderBytes; i < len(b); i++ {
		b[i] = byte(i*31 + i>>8)
	}
}

// Stamp writes the header of a message.
func Stamp(b []byte, sequence uint64, lane uint32, due int64) {
	_ = b[HeaderBytes-1]
	binary.LittleEndian.PutUint64(b, sequence)
	binary.LittleEndian.PutUint32(b[8:], lane)
	binary.LittleEndian.PutUint32(b[12:], check(sequence, lane))
	binary.LittleEndian.PutUint64(b[16:], uint64(due))
}

// Sequence returns the sequence of a message and whether its header is whole.
func Sequence(b []byte) (uint64, bool) {
	if len(b) < HeaderBytes {
		return 0, false
	}
	sequence, lane := binary.LittleEndian.Uint64(b), binary.LittleEndian.Uint32(b[8:])
	return sequence, binary.LittleEndian.Uint32(b[12:]) == check(sequence, lane)
}

// Checker checks what a subscriber receives, and tells when all is there.
//
// Threads: one at a time.
type Checker struct {
	next     []uint64 // sequence, by lane
	pattern  []byte
	stamped  bool
	now      func() int64
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
	return &Checker{
		next: make([]uint64, o.Tags*max(1, o.Producers)), pattern: NewMessage(o.Size),
		stamped: o.Work == WorkOpenLoop, now: Now,
		result: SubResult{Role: RoleSub, Latency: newHistogram()},
	}
}

// Take checks a message, and tells whether it was the last.
func (c *Checker) Take(b []byte) bool {
	if len(b) < HeaderBytes {
		c.result.Corrupt++
		return false
	}
	sequence, lane := binary.LittleEndian.Uint64(b), binary.LittleEndian.Uint32(b[8:])
	if len(b) != len(c.pattern) || binary.LittleEndian.Uint32(b[12:]) != check(sequence, lane) {
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
	if sequence&sampleMask == 0 {
		c.sample(b)
	}
	if c.stamped {
		c.result.Latency.record(c.now() - int64(binary.LittleEndian.Uint64(b[16:])))
	}
	c.result.Received++
	return false
}

func (c *Checker) skip(got, want uint64) {
	if got < want {
		c.result.Disordered++
	}
}

func (c *Checker) sample(b []byte) {
	c.result.Sampled++
	if !bytes.Equal(b[HeaderBytes:], c.pattern[HeaderBytes:]) {
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
		c.seen, c.quiet, c.result.LastNS = c.result.Received, 0, c.now()
	} else {
		c.quiet++
	}
	c.finished = c.result.Received >= total || c.quiet >= quietEnds
	return c.finished
}

// Result returns what was received. Call it when Take has returned true.
func (c *Checker) Result() SubResult { return c.result }
