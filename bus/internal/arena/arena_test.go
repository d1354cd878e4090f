// SPDX-License-Identifier: Apache-2.0

package arena

import (
	"bytes"
	"testing"

	"pgregory.net/rapid"

	"tagbus/netio"
)

func newArena(tb interface {
	Helper()
	Fatal(...any)
}, buffers, size int,
) *Arena {
	tb.Helper()
	pool, err := netio.NewPool(buffers, size)
	if err != nil {
		tb.Fatal(err)
	}
	return New(pool, size)
}

// taken is a run that has not been released, with what was written into it.
type taken struct {
	run  []Piece
	fill byte
}

// modelArena writes runs of several streams and releases them in any order. Each run has
// bytes of its own.
type modelArena struct {
	rt    *rapid.T
	a     *Arena
	tails [3]Tail
	runs  []taken
	next  byte
}

func TestArenaModel(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		m := &modelArena{rt: rt, a: newArena(rt, rapid.IntRange(1, 8).Draw(rt, "buffers"), rapid.SampledFrom([]int{256, 1000}).Draw(rt, "size"))}
		rt.Repeat(map[string]func(*rapid.T){
			"write":   m.write,
			"undo":    m.undo,
			"release": func(rt *rapid.T) { m.release(rapid.IntRange(0, len(m.runs)).Draw(rt, "run")) },
			"oldest":  func(*rapid.T) { m.release(0) },
			"leave":   func(rt *rapid.T) { m.a.Leave(m.tail(rt)) },
			"reserve": func(rt *rapid.T) { m.a.Reserve(m.tail(rt), rapid.IntRange(0, 2).Draw(rt, "buffers")) },
			"":        func(*rapid.T) { m.check() },
		})
		for len(m.runs) > 0 {
			m.release(0)
		}
		for i := range m.tails {
			m.a.Leave(&m.tails[i])
		}
		if n := m.a.pool.Free(); n != m.a.pool.Buffers() || len(m.a.rests) != 0 || m.a.left != 0 {
			rt.Fatalf("%d of %d buffers are free, %d rests of %d bytes", n, m.a.pool.Buffers(), len(m.a.rests), m.a.left)
		}
	})
}

func (m *modelArena) tail(rt *rapid.T) *Tail {
	return &m.tails[rapid.IntRange(0, len(m.tails)-1).Draw(rt, "tail")]
}

// write begins a run, writes some of it, and ends it.
func (m *modelArena) write(rt *rapid.T) {
	t := m.tail(rt)
	n := rapid.OneOf(rapid.IntRange(1, 100), rapid.IntRange(1, 3000)).Draw(rt, "bytes")
	before := m.memory(t)
	run, ok := m.a.Take(nil, t, n)
	if !ok {
		if before >= n+len(m.a.chunks)*MinPiece {
			rt.Fatalf("no memory for %d bytes, with %d in buffers and rests", n, before)
		}
		return
	}
	total := 0
	for _, x := range run {
		total += len(x.Mem)
	}
	if total < n || len(run) > 1 && total-len(run[len(run)-1].Mem) >= n {
		rt.Fatalf("got %d bytes in %d pieces, want %d", total, len(run), n)
	}
	last := &run[len(run)-1]
	written := n - (total - len(last.Mem))
	if len(run) == 1 {
		written = rapid.IntRange(0, min(n, len(last.Mem))).Draw(rt, "written")
	}
	last.Mem = last.Mem[:written]
	m.next++
	for _, x := range run {
		for i := range x.Mem {
			x.Mem[i] = m.next
		}
	}
	m.a.Written(t, written)
	m.runs = append(m.runs, taken{run, m.next})
}

// memory returns how many bytes a run of t may take.
func (m *modelArena) memory(t *Tail) int {
	return m.a.left + (m.a.pool.Free()+len(t.spare))*m.a.size
}

// reserved returns how many bytes are left of the buffer of t, if they are only for t.
func (m *modelArena) reserved(t *Tail) int {
	if rest := t.rest(); t.reserved && rest >= MinPiece {
		return rest
	}
	return 0
}

// undo begins a run and gives it back. That changes nothing.
func (m *modelArena) undo(rt *rapid.T) {
	t := m.tail(rt)
	before := m.memory(t) + m.reserved(t)
	if run, ok := m.a.Take(nil, t, rapid.IntRange(1, 3000).Draw(rt, "bytes")); ok {
		m.a.Undo(run)
	}
	if after := m.memory(t) + m.reserved(t); after != before {
		rt.Fatalf("there were %d bytes, and %d are left", before, after)
	}
}

func (m *modelArena) release(i int) {
	if i >= len(m.runs) {
		return
	}
	for _, x := range m.runs[i].run {
		x.Chunk.Release()
	}
	m.runs = append(m.runs[:i], m.runs[i+1:]...)
}

// check checks that no run was written into by another one.
func (m *modelArena) check() {
	for _, r := range m.runs {
		for _, x := range r.run {
			if n := bytes.Count(x.Mem, []byte{r.fill}); n != len(x.Mem) {
				m.rt.Fatalf("%d of %d bytes of a run were overwritten", len(x.Mem)-n, len(x.Mem))
			}
		}
	}
	rests := 0
	for i, c := range m.a.rests {
		if c.owner != nil && c.owner.reserved {
			m.rt.Fatalf("rest %d of %d bytes is reserved", i+1, c.rest())
		}
		if c.place != i+1 || c.rest() < MinPiece {
			m.rt.Fatalf("rest %d of %d bytes is at %d", i+1, c.rest(), c.place)
		}
		rests += c.rest()
	}
	if rests != m.a.left {
		m.rt.Fatalf("the rests have %d bytes, %d are counted", rests, m.a.left)
	}
}

// However large the runs are, buffers are nearly full of them.
func TestBuffersAreFullOfRuns(t *testing.T) {
	const buffers, size = 64, 4096
	for n := 1; n <= 3*size; n += 1 + n/7 {
		a := newArena(t, buffers, size)
		var tail Tail
		var runs []Piece
		held := 0
		for {
			run, ok := a.Take(nil, &tail, n)
			if !ok {
				break
			}
			for _, x := range run[:len(run)-1] {
				held += len(x.Mem)
			}
			last := min(n, len(run[len(run)-1].Mem))
			if len(run) > 1 {
				last = 0
				for _, x := range run[:len(run)-1] {
					last -= len(x.Mem)
				}
				last += n
			}
			a.Written(&tail, last)
			held += last
			runs = append(runs, run...)
		}
		if least := buffers*size - max(n, MinPiece) - buffers*MinPiece; held < least {
			t.Errorf("runs of %d bytes: %d of %d bytes are used, want %d at least", n, held, buffers*size, least)
		}
		for _, x := range runs {
			x.Chunk.Release()
		}
		if a.pool.Free() != buffers {
			t.Errorf("runs of %d bytes: %d of %d buffers are free after all", n, a.pool.Free(), buffers)
		}
	}
}

// What Buffers promises: a Tail that has reserved them needs no other memory.
func TestReservedBuffersAreEnough(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		const size = 512
		a := newArena(rt, 64, size)
		total := rapid.IntRange(1, a.Content(40)).Draw(rt, "total")
		var tail Tail
		if !a.Reserve(&tail, a.Buffers(total)) {
			rt.Fatal("the pool is too small for the test")
		}
		var others Tail
		for ok := true; ok; { // nothing is left to others
			if _, ok = a.Take(nil, &others, size); ok {
				a.Written(&others, size)
			}
		}
		for total > 0 {
			n := min(total, rapid.IntRange(1, 1500).Draw(rt, "bytes"))
			run, ok := a.Take(nil, &tail, n)
			if !ok {
				rt.Fatalf("no memory for the last %d bytes", total)
			}
			for _, x := range run[:len(run)-1] {
				n -= len(x.Mem)
				total -= len(x.Mem)
			}
			a.Written(&tail, n)
			total -= n
		}
	})
}

func TestTakingAndReleasingAllocateNothing(t *testing.T) {
	a := newArena(t, 4, 4096)
	var tail Tail
	run := make([]Piece, 0, 4)
	if n := testing.AllocsPerRun(100, func() {
		for range 3 {
			run, _ = a.Take(run[:0], &tail, 3000)
			a.Written(&tail, 3000-4096*(len(run)-1)+len(run)-1)
			for _, x := range run {
				x.Chunk.Release()
			}
		}
	}); n != 0 {
		t.Errorf("got %v allocations, want 0", n)
	}
}

// A message that is shorter than a buffer lies in one piece while there is plenty of memory, and fills what is left when
// there is not.
func TestArena_Take_onePieceWhilePlenty(t *testing.T) {
	const size, buffers, message = 1000, 8, 550
	a := newArena(t, buffers, size)
	var tail Tail
	bytes := 0
	for n := range buffers * size / message {
		free, plenty := a.pool.Free(), a.Plenty()
		run, ok := a.Take(nil, &tail, message)
		if !ok {
			t.Fatalf("message %d: no memory, with %d bytes written of %d", n, bytes, buffers*size)
		}
		if n < 3 && !plenty {
			t.Errorf("message %d: memory is short, with %d of %d buffers free", n, free, buffers)
		}
		if plenty && len(run) > 1 {
			t.Errorf("message %d: got %d pieces with %d of %d buffers free, want 1", n, len(run), free, buffers)
		}
		written := message
		for _, x := range run[:len(run)-1] {
			written -= len(x.Mem)
		}
		a.Written(&tail, written)
		bytes += message
	}
}

// Memory that is reserved is as much as Reserve has promised, however it is cut.
func TestArena_Take_reservedIsNotWasted(t *testing.T) {
	const size, buffers, message, messages = 1000, 16, 550, 4
	a := newArena(t, buffers, size)
	var tail Tail
	reserved := a.Buffers(messages * message)
	a.Reserve(&tail, reserved)
	for range messages {
		run, ok := a.Take(nil, &tail, message)
		if !ok {
			t.Fatal("no memory")
		}
		written := message
		for _, x := range run[:len(run)-1] {
			written -= len(x.Mem)
		}
		a.Written(&tail, written)
	}
	if used := buffers - a.pool.Free(); used != reserved {
		t.Errorf("got %d buffers in use, want the reserved ones, %d", used, reserved)
	}
}

// Streams that stall leave the others what they do not hold: what lies unused beside their messages, in their buffers, is used only
// once, as those do not become free.
func TestArena_Take_stalledStreamsLeaveTheRest(t *testing.T) {
	const size, buffers, message, lanes, queue = 1000, 64, 550, 13, 4000 // 12,000 bytes are left
	a := newArena(t, buffers, size)
	take := func(tail *Tail) []Piece {
		run, ok := a.Take(nil, tail, message)
		if !ok {
			return nil
		}
		written := message
		for _, x := range run[:len(run)-1] {
			written -= len(x.Mem)
		}
		a.Written(tail, written)
		return run
	}
	for range lanes {
		tail := new(Tail)
		for bytes := message; bytes <= queue; bytes += message {
			if take(tail) == nil {
				t.Fatal("no memory for messages that wait")
			}
		}
	}
	var tail Tail
	for n := range 10 * buffers {
		run := take(&tail)
		if run == nil {
			t.Fatalf("no memory for message %d of the others, with %d of %d buffers free and %d bytes in rests", n, a.pool.Free(), buffers, a.left)
		}
		for _, x := range run {
			x.Chunk.Release()
		}
	}
}
