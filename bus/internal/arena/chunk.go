// SPDX-License-Identifier: Apache-2.0

package arena

import (
	"sync/atomic"

	"tagbus/netio"
)

// Chunk is a buffer with runs.
type Chunk struct {
	arena *Arena
	runs  atomic.Int32 // not released

	// Guarded by Arena.mu.
	buffer *netio.Buffer // nil: it is in the pool
	mem    []byte        // of buffer
	used   int           // bytes of mem, without those of a run that is being written
	owner  *Tail         // that goes on writing; nil: none
	place  int           // 1 + its place in Arena.rests; 0: it is not there
}

// Tail is the memory that a stream goes on writing. The zero value has none.
type Tail struct {
	chunk    *Chunk          // nil: none; Arena.mu
	spare    []*netio.Buffer // taken by Reserve
	reserved bool            // the rest of chunk is not for others; Arena.mu
	flood    bool            // its last run has filled half of a buffer or more; Arena.mu
}

// Piece is memory of a run, and the chunk in which it is.
type Piece struct {
	Chunk *Chunk
	Mem   []byte
	cold  bool // see Warm
}

// maxWarmed bounds what Warm does, to some 50 µs: a buffer may have 16 MiB, and a run 64 MiB. More would have left
// the cache again before it is filled.
const maxWarmed = 1 << 20

// Cold reports whether a run has memory of a flood, or is large: then that is in the cache of the processor that has read it
// last, and Warm may be worth while. For other runs it is not: a lone message would pay for a whole buffer.
func Cold(run ...Piece) bool {
	for _, x := range run {
		if x.cold {
			return true
		}
	}
	return false
}

// Warm prepares what is cold of a run that is going to be filled, before anything is written. What waits for a lock of its
// caller, as the mutex of a stream, waits for that too: some 50 µs at most.
//
// Message by message memory comes back from another cache line by line, and the lock of each message waits for that. To
// clear it takes it over at once, and reads none of it (adr/0042).
func Warm(run ...Piece) {
	left := maxWarmed
	for _, x := range run {
		if x.cold {
			n := min(len(x.Mem), left)
			clear(x.Mem[:n])
			left -= n
		}
	}
}

// Release gives back a piece. With the last one of its chunk the buffer is free.
func (c *Chunk) Release() {
	if c.runs.Add(-1) == 0 {
		c.arena.mu.Lock()
		c.arena.freeIdle(c)
		c.arena.mu.Unlock()
	}
}

// rest returns how many bytes of the chunk are not used.
func (c *Chunk) rest() int { return len(c.mem) - c.used }

// disown takes the chunk from its owner. Arena.mu is held.
func (c *Chunk) disown() {
	if c.owner != nil {
		c.owner.drop()
	}
}

// rest returns how many bytes t may go on writing. Arena.mu is held.
func (t *Tail) rest() int {
	if t.chunk == nil {
		return 0
	}
	return t.chunk.rest()
}

// drop leaves the chunk of t to others. Arena.mu is held.
func (t *Tail) drop() {
	if t.chunk != nil {
		t.chunk.owner, t.chunk = nil, nil
	}
}
