// SPDX-License-Identifier: Apache-2.0

package arena

import (
	"sync"
	"unsafe"

	"tagbus/netio"
)

const (
	// MinPiece is the shortest rest that is used. The overhead of a message fits into it.
	MinPiece = 32

	// WasteShare is the part of a buffer of which less stays unused for a run that does not
	// fit into the rest.
	WasteShare = 8

	// floodShare is the part of a buffer that the run before has filled, or more, in a flood.
	floodShare = 2

	maxPieces = 512 // of a run that is made of rests
)

// Arena cuts the buffers of a pool into runs.
//
// Threads: any. Calls with the same Tail are not made at the same time.
type Arena struct {
	pool   *netio.Pool
	size   int     // bytes of a buffer
	chunks []Chunk // by the key of their buffer

	mu    sync.Mutex
	rests []*Chunk // that have a rest and are not being written, in any order
	left  int      // bytes of these rests
}

// StateBytes is the memory that New takes for each buffer of the pool.
const StateBytes = int(unsafe.Sizeof(Chunk{}) + unsafe.Sizeof((*Chunk)(nil)))

// New returns an arena in the memory of a pool.
//
//   - size: of the pool's buffers, in bytes; at least 4 * MinPiece.
func New(pool *netio.Pool, size int) *Arena {
	a := &Arena{pool: pool, size: size, chunks: make([]Chunk, pool.Buffers())}
	a.rests = make([]*Chunk, 0, len(a.chunks))
	for i := range a.chunks {
		a.chunks[i].arena = a
	}
	return a
}

// Content returns how many bytes surely fit into so many buffers of a Tail, however they
// are cut into runs.
func (a *Arena) Content(buffers int) int {
	return max(0, buffers) * (a.size - max(a.size/WasteShare, MinPiece))
}

// Buffers returns how many buffers of a Tail are surely enough for runs of n bytes.
func (a *Arena) Buffers(n int) int { return n/a.Content(1) + 1 }

// Reserve takes buffers from the pool for t, which uses them before others. Until Leave no
// other Tail takes what is left of the buffer that t is writing: it counts in Buffers.
//
//   - Result: false if there are not so many; then none is taken.
func (a *Arena) Reserve(t *Tail, buffers int) (ok bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if t.spare, ok = a.pool.GetAll(t.spare, buffers); !ok {
		return false
	}
	if t.reserved = true; t.chunk != nil {
		a.withdraw(t.chunk)
	}
	return true
}

// Take begins a run of at least n bytes behind the last one of t, and appends its memory
// to dst: one piece with all memory up to the end of a buffer, or as many pieces as
// n bytes take. Each piece is to be released. Written ends the run.
//
//   - Result: false if there is not so much memory; then nothing is taken.
func (a *Arena) Take(dst []Piece, t *Tail, n int) (pieces []Piece, ok bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	rest := t.rest()
	if n <= rest {
		return append(dst, a.begin(t.chunk, t)), true
	}
	if rest < max(a.size/WasteShare, MinPiece) || n <= a.size && !t.reserved && a.plenty() {
		rest = 0
	}
	buffers := (n - rest + a.size - 1) / a.size
	if len(t.spare) < buffers {
		if t.spare, ok = a.pool.GetAll(t.spare, buffers-len(t.spare)); !ok {
			return a.scrape(dst, t, n)
		}
	}
	if rest > 0 {
		dst = append(dst, a.all(t.chunk))
	}
	cold := t.flood || buffers > 1
	for range buffers - 1 {
		x := a.all(a.open(t))
		x.cold = cold
		dst = append(dst, x)
	}
	x := a.begin(a.open(t), t)
	x.cold = cold
	return append(dst, x), true
}

// Plenty reports whether there is so much memory that the rest of a buffer may be left to others, for a run in one piece: a
// subscriber within the host reads that where it is, and would copy several pieces into one.
func (a *Arena) Plenty() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.plenty()
}

// plenty is Plenty. A rest beside a run that stays is used once, and is not free before that is: so all rests are not more than the
// part of the pool that is left unused without it. mu is held.
func (a *Arena) plenty() bool {
	return 2*a.pool.Free() > a.pool.Buffers() && WasteShare*a.left < a.size*a.pool.Buffers()
}

// scrape is Take without enough buffers: it takes the rests of others. mu is held.
func (a *Arena) scrape(dst []Piece, t *Tail, n int) (pieces []Piece, ok bool) {
	for _, c := range a.rests[max(0, len(a.rests)-maxPieces):] {
		if c.rest() >= n {
			return append(dst, a.begin(c, t)), true
		}
	}
	free := a.pool.Free() + len(t.spare)
	if n > a.left+free*a.size {
		return dst, false
	}
	before := len(dst)
	for n > 0 && len(dst)-before < maxPieces {
		c := a.next(t)
		if c == nil {
			break
		}
		if n > c.rest() {
			dst = append(dst, a.all(c))
		} else {
			dst = append(dst, a.begin(c, t))
		}
		n -= len(dst[len(dst)-1].Mem)
	}
	if n > 0 { // too many small rests, or another user of the pool was faster
		for _, x := range dst[before:] {
			a.undo(x, len(x.Mem))
		}
		return dst[:before], false
	}
	return dst, true
}

// next returns a chunk with memory for t: a free buffer or a rest. It is nil if there is
// none. mu is held.
func (a *Arena) next(t *Tail) *Chunk {
	if len(t.spare) == 0 {
		t.spare, _ = a.pool.GetAll(t.spare, 1)
	}
	switch last := len(a.rests) - 1; {
	case len(t.spare) > 0:
		return a.open(t)
	case last >= 0:
		return a.rests[last]
	}
	return nil
}

// Undo ends a run that Take has begun, of which nothing is needed. Its pieces are
// released.
func (a *Arena) Undo(run []Piece) {
	a.mu.Lock()
	defer a.mu.Unlock()
	last := len(run) - 1
	for _, x := range run[:last] {
		a.undo(x, len(x.Mem))
	}
	a.undo(run[last], 0)
}

// undo gives back a piece, of which so many bytes count as used. mu is held.
func (a *Arena) undo(x Piece, used int) {
	c := x.Chunk
	c.used -= used
	a.offer(c)
	c.runs.Add(-1)
	a.freeIdle(c)
}

// open returns the chunk of the next spare buffer of t. mu is held.
func (a *Arena) open(t *Tail) *Chunk {
	last := len(t.spare) - 1
	b := t.spare[last]
	t.spare[last] = nil
	t.spare = t.spare[:last]
	c := &a.chunks[b.Key()]
	b.Reset()
	c.buffer, c.mem, c.used = b, b.Extend(b.Available()), 0
	return c
}

// begin begins a run in the rest of a chunk, of which t becomes the owner. mu is held.
func (a *Arena) begin(c *Chunk, t *Tail) Piece {
	a.withdraw(c)
	if t.chunk != c {
		a.leave(t)
		c.disown()
		c.owner, t.chunk = t, c
	}
	c.runs.Add(1)
	return Piece{Chunk: c, Mem: c.mem[c.used:]}
}

// all takes the whole rest of a chunk. mu is held.
func (a *Arena) all(c *Chunk) Piece {
	a.withdraw(c)
	c.disown()
	c.runs.Add(1)
	x := Piece{Chunk: c, Mem: c.mem[c.used:]}
	c.used = len(c.mem)
	return x
}

// Written ends the run that t has begun last: n bytes of its last piece are written. The
// rest is for the next run.
func (a *Arena) Written(t *Tail, n int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	t.chunk.used += n
	t.flood = n >= a.size/floodShare
	a.offer(t.chunk)
}

// leave leaves the chunk of t to others. mu is held.
func (a *Arena) leave(t *Tail) {
	c := t.chunk
	if t.drop(); t.reserved && c != nil {
		a.offer(c)
	}
}

// Leave ends the use of t. What was written stays until it is released.
func (a *Arena) Leave(t *Tail) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, b := range t.spare {
		b.Release()
	}
	t.spare = nil
	a.leave(t)
	t.reserved = false
}

// freeIdle gives the buffer of a chunk without runs back to the pool. The last run may
// have been released a while ago: its owner may have begun another one, and the chunk may
// be free, or in use, again. mu is held.
func (a *Arena) freeIdle(c *Chunk) {
	if c.buffer == nil || c.runs.Load() > 0 {
		return
	}
	a.withdraw(c)
	c.disown()
	b := c.buffer
	c.buffer, c.mem = nil, nil
	b.Release()
}

// offer lists the rest of a chunk that is not being written, unless it is reserved. mu is
// held.
func (a *Arena) offer(c *Chunk) {
	if c.owner != nil && c.owner.reserved {
		return
	}
	if rest := c.rest(); rest >= MinPiece {
		a.rests = append(a.rests, c)
		a.left += rest
		c.place = len(a.rests)
	}
}

// withdraw undoes offer. mu is held.
func (a *Arena) withdraw(c *Chunk) {
	if c.place == 0 {
		return
	}
	last := a.rests[len(a.rests)-1]
	a.rests[c.place-1], last.place = last, c.place
	a.rests = a.rests[:len(a.rests)-1]
	a.left -= c.rest()
	c.place = 0
}
