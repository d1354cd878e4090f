package bus

import (
	"errors"
	"fmt"

	"tagbus/bus/internal/cache"
	"tagbus/bus/internal/fanout"
	"tagbus/netio"
)

// memory makes the memory that a publisher holds from its beginning: the pool of its
// pages and the cache, or nil. c has its defaults.
//
// Errors: netio.ErrNoMemory and others of the system, wrapped with the sizes and
// the fields that ask for them.
func (c *PublisherConfig) memory() (pool *netio.Pool, kept *cache.Cache, err error) {
	pages := c.PoolBytes / c.PageBytes
	forPool := c.PoolBytes + pages*fanout.PageStateBytes
	if err := netio.CheckMemory(forPool); err != nil {
		return nil, nil, c.poolError(err)
	}
	if c.CacheMessages > 0 {
		if err := netio.CheckMemory(c.CacheBytes); err != nil {
			return nil, nil, c.cacheError(err)
		}
		if err := netio.CheckMemory(forPool + c.CacheBytes); err != nil {
			return nil, nil, c.cacheError(fmt.Errorf("beside a pool of %d bytes: %w", c.PoolBytes, err))
		}
	}
	if pool, err = netio.NewPool(pages, c.PageBytes); err != nil {
		return nil, nil, c.poolError(err)
	}
	if c.CacheMessages > 0 {
		if kept, err = cache.New(c.CacheMessages, c.CacheBytes); err != nil {
			return nil, nil, errors.Join(c.cacheError(err), pool.Close())
		}
	}
	return pool, kept, nil
}

func (c *PublisherConfig) cacheError(err error) error {
	return fmt.Errorf("bus: CacheBytes is %d: %w", c.CacheBytes, err)
}

// poolError names the queue too: if only that is set, the pool is made for it.
func (c *PublisherConfig) poolError(err error) error {
	if c.PoolBytes == c.QueueBytes+c.PageBytes {
		return fmt.Errorf("bus: QueueBytes is %d, so PoolBytes is %d: %w", c.QueueBytes, c.PoolBytes, err)
	}
	return fmt.Errorf("bus: PoolBytes is %d: %w", c.PoolBytes, err)
}
