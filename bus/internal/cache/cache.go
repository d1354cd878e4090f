// SPDX-License-Identifier: Apache-2.0

// Package cache keeps the newest messages of each tag for later subscribers.
//
// Its memory is one region of small blocks outside the Go heap. So missing memory is an
// error of New, nothing is allocated later, and no mix of sizes leaves memory that fits
// no message. A message is a chain of blocks. It is in two lists: that of its line, and
// that of all messages by age, in which block 0 stands between the newest and the
// oldest.
package cache

import (
	"sync"
	"unsafe"

	"tagbus/netio"
)

// Cache keeps the newest messages of each tag. The messages of a tag are a line.
//
// A line is changed by one goroutine at a time: its last message is that of the tag's
// position, and those before it have the positions below, without a hole. Its oldest
// messages are the exception: messages of other lines may push them out at any time.
// Different lines may be changed at the same time.
type Cache struct {
	most uint32 // messages of a tag

	mu     sync.Mutex // held for a few steps, and for the copy of a small message
	region []byte     // nil after the last writer of a closed cache
	blocks []block
	fresh  uint32 // this one and those behind it have never been used
	spare  uint32 // the first of the free chains
	free   uint32 // blocks of those, and fresh ones
	lines  []messages
	total  int // messages

	writing int // calls of Add that copy a message without mu
	closed  bool
}

// block is a part of a message. What comes after next holds for the first
// block of a message, or of a free chain.
type block struct {
	next          uint32 // block of the same chain
	tail          uint32 // the last one of it
	before, after uint32 // message of the same tag; before of the first: nothing; after: free chain
	older, newer  uint32 // message of any tag
	line          uint32
	size          uint32 // of the payload, in bytes; of a free chain, in blocks
	status        uint16
	data          [blockData]byte
}

// BlockBytes is the size of a block: the least memory that a message takes.
const BlockBytes = 128

const blockData = BlockBytes - 8*4 - 2

// messages is a line.
type messages struct{ first, last, count uint32 }

// Depth returns how many messages of a line are kept at most.
func (c *Cache) Depth() uint32 { return c.most }

// New makes an empty cache. Close it.
//
//   - depth: messages of a line, at most.
//   - bytes: of memory for all messages.
//   - Errors: netio.ErrNoMemory, and others of the system, wrapped.
func New(depth, bytes int) (*Cache, error) {
	n := bytes / BlockBytes
	region, err := netio.AllocRegion((n + 1) * BlockBytes)
	if err != nil {
		return nil, err
	}
	blocks := unsafe.Slice((*block)(unsafe.Pointer(unsafe.SliceData(region))), n+1)
	return &Cache{most: uint32(depth), region: region, blocks: blocks, fresh: 1, free: uint32(n)}, nil
}

// Close forgets everything. It frees the memory, or leaves that to the last running
// Add. Messages added later are not kept.
func (c *Cache) Close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed, c.total = true, 0
	clear(c.lines)
	c.release()
}

// release frees the memory of a closed cache unless an Add writes to it. mu is held.
func (c *Cache) release() {
	if c.closed && c.writing == 0 && c.region != nil {
		_ = netio.FreeRegion(c.region) // fails only for an invalid region
		c.region, c.blocks = nil, nil
	}
}

// blocksOf returns how many blocks a payload takes.
func blocksOf(size int) uint32 {
	return uint32(max(1, (size+blockData-1)/blockData))
}

// NewLine returns the number of an empty line.
func (c *Cache) NewLine() uint32 {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.lines = append(c.lines, messages{})
	return uint32(len(c.lines) - 1)
}

// Add puts a message at the end of a line. A message that is larger than the whole
// cache is not kept, and neither are those before it.
func (c *Cache) Add(line uint32, status uint16, data []byte) {
	need := blocksOf(len(data))
	c.mu.Lock()
	first := c.reserve(line, need)
	if first == 0 {
		c.clear(line)
		c.mu.Unlock()
		return
	}
	if need > 1 { // the blocks are in no list yet
		c.writing++
		c.mu.Unlock()
		c.write(first, data)
		c.mu.Lock()
		c.writing--
		if c.closed {
			c.release()
			c.mu.Unlock()
			return
		}
	} else {
		copy(c.blocks[first].data[:], data)
	}
	b := &c.blocks[first]
	b.line, b.status, b.size = line, status, uint32(len(data))
	c.link(line, first)
	c.mu.Unlock()
}

// link makes a message the newest of its line and of all. mu is held.
func (c *Cache) link(line, m uint32) {
	b, anchor, l := &c.blocks[m], &c.blocks[0], &c.lines[line]
	b.older, b.newer = anchor.older, 0
	c.blocks[anchor.older].newer = m // the anchor's own if m is the only one
	anchor.older = m
	b.before, b.after = l.last, 0
	if l.count == 0 {
		l.first = m
	} else {
		c.blocks[l.last].after = m
	}
	l.last = m
	l.count++
	c.total++
}

// drop removes the oldest message of a line. mu is held.
func (c *Cache) drop(m uint32) {
	b := &c.blocks[m]
	c.blocks[b.older].newer = b.newer
	c.blocks[b.newer].older = b.older
	l := &c.lines[b.line]
	if l.first = b.after; l.first == 0 {
		l.last = 0
	}
	l.count--
	c.total--
	b.size = blocksOf(int(b.size))
	c.free += b.size
	b.after = c.spare
	c.spare = m
}

// Empty removes all messages of a line.
func (c *Cache) Empty(line uint32) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.clear(line)
}

// clear removes all messages of a line. mu is held.
func (c *Cache) clear(line uint32) {
	for c.lines[line].count > 0 {
		c.drop(c.lines[line].first)
	}
}

// Use returns how many messages there are, and the bytes that they take.
func (c *Cache) Use() (messages, bytes int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return 0, 0
	}
	return c.total, (len(c.blocks) - 1 - int(c.free)) * BlockBytes
}
