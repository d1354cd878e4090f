// SPDX-License-Identifier: Apache-2.0

//go:build linux

package shm

import (
	"math/bits"
	"sync"
	"sync/atomic"

	"tagbus/internal/invariants"
	"tagbus/netio"
)

// Classes of blocks: each is twice as large as the one before.
const (
	smallBits = 12 // the smallest block has 4 KiB
	heapBits  = 16 // from here on they are regions: a mapping for each would be too many
	classes   = 32 - smallBits

	keepBytes = 4 << 20 // of free blocks; one of each class may be kept beyond
)

// block is memory of this side in which a message is put together. It implements
// netio.Retained.
type block struct {
	mem    []byte
	class  int
	memory *memory
	users  atomic.Int32 // one is the endpoint, the others retain the message
}

// Bytes implements netio.Retained.
func (b *block) Bytes() int { return len(b.mem) }

// Release implements netio.Retained.
func (b *block) Release() { b.memory.put(b) }

// memory keeps the free blocks of a backend.
//
// Threads: any.
type memory struct {
	mu     sync.Mutex
	free   [classes][]*block
	bytes  int // of all in free
	closed bool
}

// classOf returns the smallest class with room for n bytes.
func classOf(n int) int { return max(bits.Len(uint(n-1)), smallBits) - smallBits }

// get returns a block of at least n bytes, 1 to 2^31, with undefined content. Errors:
// netio.ErrNoMemory, and the system's.
func (m *memory) get(n int) (*block, error) {
	class := classOf(n)
	m.mu.Lock()
	if last := len(m.free[class]) - 1; last >= 0 {
		b := m.free[class][last]
		m.free[class] = m.free[class][:last]
		m.bytes -= len(b.mem)
		m.mu.Unlock()
		b.users.Store(1)
		return b, nil
	}
	m.mu.Unlock()
	b := &block{class: class, memory: m}
	b.users.Store(1)
	size := 1 << (class + smallBits)
	if class+smallBits < heapBits {
		b.mem = make([]byte, size)
		return b, nil
	}
	var err error
	if b.mem, err = netio.AllocRegion(size); err != nil {
		return nil, err
	}
	return b, nil
}

// put takes a block back from one of its users.
func (m *memory) put(b *block) {
	switch left := b.users.Add(-1); {
	case left > 0:
		return
	case left < 0:
		panic("shm: retained memory was released twice")
	}
	if invariants.Enabled {
		invariants.Poison(b.mem)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed || m.bytes+len(b.mem) > keepBytes && len(m.free[b.class]) > 0 {
		b.release()
		return
	}
	m.free[b.class] = append(m.free[b.class], b)
	m.bytes += len(b.mem)
}

// close releases all free blocks now, and the others when they come back.
func (m *memory) close() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.closed = true
	for class, blocks := range m.free {
		for _, b := range blocks {
			b.release()
		}
		m.free[class] = nil
	}
	m.bytes = 0
}

func (b *block) release() {
	if b.class+smallBits >= heapBits {
		_ = netio.FreeRegion(b.mem) // fails only for memory that is no region
	}
	b.mem = nil
}
