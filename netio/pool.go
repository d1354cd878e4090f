// SPDX-License-Identifier: Apache-2.0

package netio

import (
	"fmt"
	"math"
	"sync"
	"unsafe"
)

// bufferAlign keeps two buffers from sharing a cache line.
const bufferAlign = 64

// Pool is a fixed number of equal buffers in one region of memory. Its size
// bounds what its users can hold; nothing is allocated after NewPool.
//
// Threads: any.
type Pool struct {
	region  []byte
	buffers []Buffer

	mu      sync.Mutex
	free    []*Buffer // a stack: the buffer used last is warm in the cache
	minFree int
	closed  bool
	awaited bool   // onFree is to be called
	onFree  func() // called without the lock; nil: never
}

// poolBookBytes is what the Go heap holds of each buffer.
const poolBookBytes = int(unsafe.Sizeof(Buffer{}) + unsafe.Sizeof((*Buffer)(nil)))

// NewPool allocates a pool.
//
//   - buffers: at least 1. bufferBytes: the capacity of each, at least 1.
//   - Errors: ErrInvalidParams, ErrNoMemory, or the system's.
func NewPool(buffers, bufferBytes int) (*Pool, error) {
	return newPool(buffers, bufferBytes, AllocRegion)
}

// NewSharedPool is NewPool with a region of AllocSharedRegion. Where the system has no such memory, it
// is NewPool: a backend in shared memory then copies what it sends.
func NewSharedPool(buffers, bufferBytes int) (*Pool, error) {
	return newPool(buffers, bufferBytes, func(n int) ([]byte, error) {
		if region, err := AllocSharedRegion(n); err == nil {
			return region, nil
		}
		return AllocRegion(n)
	})
}

func newPool(buffers, bufferBytes int, alloc func(int) ([]byte, error)) (*Pool, error) {
	if buffers < 1 || bufferBytes < 1 {
		return nil, fmt.Errorf("%w: a pool of %d buffers of %d bytes, want at least 1 of 1", ErrInvalidParams, buffers, bufferBytes)
	}
	stride := (bufferBytes + bufferAlign - 1) / bufferAlign * bufferAlign
	if buffers > (math.MaxInt-stride)/(stride+poolBookBytes) {
		return nil, fmt.Errorf("%w: a pool of %d buffers of %d bytes", ErrNoMemory, buffers, bufferBytes)
	}
	if err := CheckMemory(int64(buffers) * int64(stride+poolBookBytes)); err != nil {
		return nil, err
	}
	region, err := alloc(buffers * stride)
	if err != nil {
		return nil, err
	}
	p := &Pool{
		region:  region,
		buffers: make([]Buffer, buffers),
		free:    make([]*Buffer, 0, buffers),
		minFree: buffers,
	}
	for i := range p.buffers {
		b := &p.buffers[i]
		b.pool = p
		b.key = Key(i)
		b.mem = region[i*stride : i*stride : i*stride+bufferBytes]
	}
	for i := len(p.buffers) - 1; i >= 0; i-- { // so that buffer 0 is taken first
		p.free = append(p.free, &p.buffers[i])
	}
	return p, nil
}

// Get takes an empty buffer, or returns nil when none is free. It comes back
// by Buffer.Release.
func (p *Pool) Get() *Buffer {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := len(p.free) - 1
	if n < 0 || p.closed {
		return nil
	}
	b := p.free[n]
	p.free = p.free[:n]
	p.minFree = min(p.minFree, n)
	b.mem = b.mem[:0]
	b.state.Store(bufferTaken)
	return b
}

// GetAll appends n empty buffers to dst, or none and returns false.
func (p *Pool) GetAll(dst []*Buffer, n int) ([]*Buffer, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	left := len(p.free) - n
	if left < 0 || p.closed {
		return dst, false
	}
	for _, b := range p.free[left:] {
		b.mem = b.mem[:0]
		b.state.Store(bufferTaken)
	}
	dst = append(dst, p.free[left:]...)
	p.free = p.free[:left]
	p.minFree = min(p.minFree, left)
	return dst, true
}

func (p *Pool) put(b *Buffer) {
	if p.putBack(b) {
		p.onFree()
	}
}

// putBack returns b, and reports whether a caller of AwaitFree waits for a buffer.
func (p *Pool) putBack(b *Buffer) (awaited bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.free = append(p.free, b)
	if p.closed && len(p.free) == len(p.buffers) {
		_ = FreeRegion(p.region) // fails only for a region that is none
	}
	awaited = p.awaited
	p.awaited = false
	return awaited
}

// OnFree sets what is called when a buffer comes back after AwaitFree: f, on
// the goroutine that gives the buffer back, without a lock of the pool. It must
// be set before the first AwaitFree.
func (p *Pool) OnFree(f func()) { p.onFree = f }

// AwaitFree reports whether a buffer is free. If not, it schedules one call of the
// function of OnFree, for when a buffer comes back.
func (p *Pool) AwaitFree() (free bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.free) > 0 {
		return true
	}
	p.awaited = true
	return false
}

// Free returns the number of free buffers.
func (p *Pool) Free() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.free)
}

// MinFree returns the smallest number of free buffers since the last call: 0 means
// that a call of Get failed, or nearly did.
//
// Source: netio3 ConnectionManager::get_num_available_buffers.
func (p *Pool) MinFree() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := p.minFree
	p.minFree = len(p.free)
	return n
}

// Buffers returns the number of buffers, free or not.
func (p *Pool) Buffers() int { return len(p.buffers) }

// Region returns the memory of all buffers, for registration with a device.
func (p *Pool) Region() []byte { return p.region }

// Retire closes the pool as soon as its last buffer has come back, which may be
// now. Until then the buffers in use stay valid; Get returns nil.
func (p *Pool) Retire() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.closed && len(p.free) == len(p.buffers) {
		_ = FreeRegion(p.region)
	}
	p.closed = true
}

// Close releases the memory. It fails, and releases nothing, while buffers are
// in use; after it Get returns nil. The second call does nothing.
func (p *Pool) Close() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return nil
	}
	if used := len(p.buffers) - len(p.free); used > 0 {
		return fmt.Errorf("netio: close pool: %d of %d buffers still in use", used, len(p.buffers))
	}
	p.closed = true
	return FreeRegion(p.region)
}
