// SPDX-License-Identifier: Apache-2.0

package cache

// How the memory of a cache is divided: into chains of blocks, of which each is a
// message or free.

// reserve returns a chain for a message of a line, and makes room: by dropping
// the oldest of the line if it is full, and then the oldest of all. It returns 0
// if that is not enough. mu is held.
func (c *Cache) reserve(line, need uint32) (first uint32) {
	if c.closed || need >= uint32(len(c.blocks)) {
		return 0
	}
	if l := &c.lines[line]; l.count == c.most {
		c.drop(l.first)
	}
	for c.free < need {
		oldest := c.blocks[0].newer
		if oldest == 0 {
			return 0 // others are just writing to the rest
		}
		c.drop(oldest)
	}
	return c.take(need)
}

// take returns a chain of free blocks, of which there are enough. mu is held.
func (c *Cache) take(need uint32) (first uint32) {
	c.free -= need
	var last uint32
	for need > 0 {
		if c.spare == 0 {
			c.spare = c.cut(need)
		}
		chain := c.spare
		b := &c.blocks[chain]
		n, end := b.size, b.tail
		if n <= need {
			c.spare = b.after
		} else {
			n = need
			end = c.split(chain, n)
		}
		if first == 0 {
			first = chain
		} else {
			c.blocks[last].next = chain
		}
		last = end
		need -= n
	}
	c.blocks[last].next = 0
	c.blocks[first].tail = last
	return first
}

// split makes all but the first n blocks of a free chain, which is the first
// one, a chain of its own in its place. It returns the last of the n.
func (c *Cache) split(chain, n uint32) (last uint32) {
	b := &c.blocks[chain]
	last = chain
	for range n - 1 {
		last = c.blocks[last].next
	}
	rest := c.blocks[last].next
	r := &c.blocks[rest]
	r.size, r.tail, r.after = b.size-n, b.tail, b.after
	c.spare = rest
	return last
}

// cut makes a chain of n fresh blocks.
func (c *Cache) cut(n uint32) (chain uint32) {
	chain = c.fresh
	for i := range n - 1 {
		c.blocks[chain+i].next = chain + i + 1
	}
	c.fresh += n
	b := &c.blocks[chain]
	b.size, b.tail, b.after = n, chain+n-1, 0
	return chain
}

// write fills a chain.
func (c *Cache) write(chain uint32, data []byte) {
	for {
		b := &c.blocks[chain]
		data = data[copy(b.data[:], data):]
		if len(data) == 0 {
			return
		}
		chain = b.next
	}
}
