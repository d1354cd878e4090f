// SPDX-License-Identifier: Apache-2.0

package fanout

import (
	"errors"
	"fmt"
	"math"

	"tagbus/bus/internal/cache"
	"tagbus/bus/internal/wire"
	"tagbus/netio"
)

// MostFraming is the most that a page of one message takes beyond the payload: the policies
// Latest and Sample number their messages.
const MostFraming = wire.HeaderBytes + wire.MaxOverhead + wire.PositionBytes

// Memory says how much memory a Fanout has. Its fields are called as those of bus.Sending,
// which its errors name.
type Memory struct {
	PageBytes, QueueBytes, PoolBytes, MaxMessageBytes int

	CacheMessages int // of a tag; 0: there is no cache
	CacheBytes    int
}

// LeastQueue returns the page memory that the largest message takes.
func (m Memory) LeastQueue() int {
	n := m.PageBytes
	return (MostFraming + m.MaxMessageBytes + n - 1) / n * n
}

// LeastPool returns the least memory for pages.
func (m Memory) LeastPool() int {
	return int(min(int64(m.QueueBytes)+int64(m.PageBytes), math.MaxInt))
}

// pages returns how many pages the pool has.
func (m Memory) pages() int { return m.PoolBytes / m.PageBytes }

// Check returns why the machine does not have the memory, or nil.
//
// Errors: netio.ErrNoMemory, wrapped with the sizes and the fields that ask for them.
func (m Memory) Check() error {
	forPool := int64(m.PoolBytes) + int64(m.pages()*pageStateBytes)
	if err := netio.CheckMemory(forPool); err != nil {
		return m.poolError(err)
	}
	if m.CacheMessages == 0 {
		return nil
	}
	if err := netio.CheckMemory(int64(m.CacheBytes)); err != nil {
		return m.cacheError(err)
	}
	if err := netio.CheckMemory(forPool + int64(m.CacheBytes)); err != nil {
		return m.cacheError(fmt.Errorf("beside a pool of %d bytes: %w", m.PoolBytes, err))
	}
	return nil
}

// Make makes that memory: the pool of the pages, and the cache, or nil.
//
//   - share: other processes of the host are to read the pages.
//   - Errors: netio.ErrNoMemory and others of the system, wrapped as by Check.
func (m Memory) Make(share bool) (pool *netio.Pool, kept *cache.Cache, err error) {
	newPool := netio.NewPool
	if share {
		newPool = netio.NewSharedPool
	}
	if pool, err = newPool(m.pages(), m.PageBytes); err != nil {
		return nil, nil, m.poolError(err)
	}
	if m.CacheMessages > 0 {
		if kept, err = cache.New(m.CacheMessages, m.CacheBytes); err != nil {
			return nil, nil, errors.Join(m.cacheError(err), pool.Close())
		}
	}
	return pool, kept, nil
}

func (m Memory) cacheError(err error) error {
	return fmt.Errorf("bus: CacheBytes is %d: %w", m.CacheBytes, err)
}

// poolError names the queue too: if only that is set, the pool is made for it.
func (m Memory) poolError(err error) error {
	if m.PoolBytes == m.QueueBytes+m.PageBytes {
		return fmt.Errorf("bus: QueueBytes is %d, so PoolBytes is %d: %w", m.QueueBytes, m.PoolBytes, err)
	}
	return fmt.Errorf("bus: PoolBytes is %d: %w", m.PoolBytes, err)
}
