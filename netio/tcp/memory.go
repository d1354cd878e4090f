// SPDX-License-Identifier: Apache-2.0

package tcp

import (
	"math/bits"
	"sync"
	"sync/atomic"

	"tagbus/internal/invariants"
	"tagbus/netio"
)

const (
	smallBytes   = 8 << 10         // the smallest block
	scratchBytes = 256<<10 + slack // fits the L2 cache beside what it is copied to

	// slack makes room for the lengths around a message, so that one of 2^k
	// bytes fits a block of that class.
	slack = 4 << 10

	mediumClass  = 1 // 64 KiB
	scratchClass = 2 // 256 KiB; the next classes double
	classes      = 16

	keepBytes = 16 << 20 // of free blocks; one of each class may be kept beyond
)

// block is a piece of memory for bytes received or to be sent. It implements
// netio.Retained.
type block struct {
	mem    []byte
	class  int
	memory *memory
	users  atomic.Int32 // one puts bytes into it, the others retain messages
}

// Bytes implements netio.Retained.
func (b *block) Bytes() int { return len(b.mem) }

// Release implements netio.Retained.
func (b *block) Release() { b.memory.put(b) }

// Retain adds a user. It implements spread.Retainer.
func (b *block) Retain() { b.users.Add(1) }

// retained reports whether b has users besides the caller.
func (b *block) retained() bool { return b.users.Load() > 1 }

// memory keeps the free blocks of a backend. It holds what was needed at the
// same time recently: trim releases what was not.
//
// Threads: any.
type memory struct {
	mu        sync.Mutex
	free      [classes][]*block
	fewest    [classes]int // free since the last trim
	freeBytes int
	usedBytes int
	closed    bool

	returned atomic.Bool // there is something to trim
}

// classFor returns the smallest class with room for n bytes.
func classFor(n int) int {
	switch {
	case n <= smallBytes:
		return 0
	case n <= 64<<10+slack:
		return mediumClass
	case n <= scratchBytes:
		return scratchClass
	}
	return scratchClass + bits.Len(uint(n-slack-1)>>18)
}

// classBytes returns the size of the blocks of a class.
func classBytes(class int) int {
	switch class {
	case 0:
		return smallBytes
	case mediumClass:
		return 64<<10 + slack
	}
	return 1<<(16+class) + slack
}

// get returns a block of at least n bytes, up to 2^31, with undefined content.
// Errors: the system's (no memory).
func (m *memory) get(n int) (*block, error) {
	class := classFor(n)
	m.mu.Lock()
	m.usedBytes += classBytes(class)
	if last := len(m.free[class]) - 1; last >= 0 {
		b := m.free[class][last]
		m.free[class] = m.free[class][:last]
		m.fewest[class] = min(m.fewest[class], last)
		m.freeBytes -= len(b.mem)
		m.mu.Unlock()
		b.users.Store(1)
		return b, nil
	}
	m.mu.Unlock()
	b := &block{class: class, memory: m}
	b.users.Store(1)
	if class == 0 { // a mapping for each would be too many mappings
		b.mem = make([]byte, smallBytes)
		return b, nil
	}
	var err error
	if b.mem, err = netio.AllocRegion(classBytes(class)); err != nil {
		m.mu.Lock()
		m.usedBytes -= classBytes(class)
		m.mu.Unlock()
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
		panic("tcp: retained memory was released twice")
	}
	if invariants.Enabled {
		invariants.Poison(b.mem)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.usedBytes -= len(b.mem)
	if m.closed || m.freeBytes+len(b.mem) > keepBytes && len(m.free[b.class]) > 0 {
		b.release()
		return
	}
	m.free[b.class] = append(m.free[b.class], b)
	m.freeBytes += len(b.mem)
	if !m.returned.Load() {
		m.returned.Store(true)
	}
}

// trim releases the blocks that were free ever since the last trim.
func (m *memory) trim() {
	m.mu.Lock()
	defer m.mu.Unlock()
	for class := range m.free {
		for range m.fewest[class] {
			m.drop(class)
		}
		m.fewest[class] = len(m.free[class])
	}
	m.returned.Store(m.freeBytes > 0)
}

// drop releases one free block. m.mu is held.
func (m *memory) drop(class int) {
	last := len(m.free[class]) - 1
	b := m.free[class][last]
	m.free[class][last] = nil
	m.free[class] = m.free[class][:last]
	m.freeBytes -= len(b.mem)
	b.release()
}

// sizes returns how many bytes are in use and free.
func (m *memory) sizes() (used, free int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.usedBytes, m.freeBytes
}

// close releases all free blocks now, and the others when they come back.
func (m *memory) close() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.closed = true
	for class := range m.free {
		for len(m.free[class]) > 0 {
			m.drop(class)
		}
	}
}

func (b *block) release() {
	if b.class > 0 {
		_ = netio.FreeRegion(b.mem) // fails only for memory that is not a region
	}
	b.mem = nil
}
