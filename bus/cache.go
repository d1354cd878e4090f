package bus

import (
	"sync"
	"unsafe"

	"tagbus/netio"
)

// cache keeps the newest messages of each tag for those who subscribe later.
//
// Its memory is one region of small blocks outside the Go heap, so that there is an
// error when the system does not have it, nothing is allocated after the start, and
// no mix of sizes leaves memory that fits nobody. A message is a chain of
// blocks. It is in two lists: that of its tag, which is its line, and that of
// all messages by age, in which block 0 stands between the newest and the
// oldest.
//
// A line is changed under the mutex of the streams of its tag, so that its last
// message is always the one with the tag's position, and those before it have
// the positions below without a hole; but for its oldest messages, which others
// may push out at any time.
type cache struct {
	depth uint32 // messages of a tag

	mu     sync.Mutex // held for a few steps, and for the copy of a small message
	region []byte     // nil when it is closed and nobody writes any more
	blocks []cacheBlock
	fresh  uint32 // this one and those behind it have never been used
	spare  uint32 // the first of the free chains
	free   uint32 // blocks of those, and fresh ones
	lines  []cacheLine
	total  int // messages

	writing int // calls of add that copy a message without mu
	closed  bool
}

// cacheBlock is a part of a message. What comes after next holds for the first
// block of a message, or of a free chain.
type cacheBlock struct {
	next          uint32 // block of the same chain
	tail          uint32 // the last one of it
	before, after uint32 // message of the same tag; before of the first: nothing; after: free chain
	older, newer  uint32 // message of any tag
	line          uint32
	size          uint32 // of the payload, in bytes; of a free chain, in blocks
	status        Status
	data          [cacheBlockData]byte
}

const (
	cacheBlockBytes = 128
	cacheBlockData  = cacheBlockBytes - 8*4 - 1
)

// cacheLine is the messages of a tag.
type cacheLine struct{ first, last, count uint32 }

// newCache makes an empty cache. Close it.
//
// Errors: netio.ErrNoMemory, and others of the system, wrapped.
func newCache(depth, bytes int) (*cache, error) {
	n := bytes / cacheBlockBytes
	region, err := netio.AllocRegion((n + 1) * cacheBlockBytes)
	if err != nil {
		return nil, err
	}
	blocks := unsafe.Slice((*cacheBlock)(unsafe.Pointer(unsafe.SliceData(region))), n+1)
	return &cache{depth: uint32(depth), region: region, blocks: blocks, fresh: 1, free: uint32(n)}, nil
}

// close forgets everything and frees the memory, the last add that is under way at
// the latest. What is added later is not kept.
func (c *cache) close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed, c.total = true, 0
	clear(c.lines)
	c.release()
}

// release frees the memory of a closed cache when nobody writes to it. mu is held.
func (c *cache) release() {
	if c.closed && c.writing == 0 && c.region != nil {
		_ = netio.FreeRegion(c.region) // fails only for a region that is none
		c.region, c.blocks = nil, nil
	}
}

// cacheBlocks returns how many blocks a payload takes.
func cacheBlocks(size int) uint32 {
	return uint32(max(1, (size+cacheBlockData-1)/cacheBlockData))
}

// newLine returns the number of an empty line.
func (c *cache) newLine() uint32 {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.lines = append(c.lines, cacheLine{})
	return uint32(len(c.lines) - 1)
}

// add puts a message at the end of a line. A message that is larger than the
// whole cache is not kept, and then nothing before it.
func (c *cache) add(line uint32, status Status, data []byte) {
	need := cacheBlocks(len(data))
	c.mu.Lock()
	first := c.reserve(line, need)
	if first == 0 {
		c.clear(line)
		c.mu.Unlock()
		return
	}
	if need > 1 { // nobody knows of these blocks yet
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
func (c *cache) link(line, m uint32) {
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
func (c *cache) drop(m uint32) {
	b := &c.blocks[m]
	c.blocks[b.older].newer = b.newer
	c.blocks[b.newer].older = b.older
	l := &c.lines[b.line]
	if l.first = b.after; l.first == 0 {
		l.last = 0
	}
	l.count--
	c.total--
	b.size = cacheBlocks(int(b.size))
	c.free += b.size
	b.after = c.spare
	c.spare = m
}

// empty removes all messages of a line.
func (c *cache) empty(line uint32) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.clear(line)
}

// clear removes all messages of a line. mu is held.
func (c *cache) clear(line uint32) {
	for c.lines[line].count > 0 {
		c.drop(c.lines[line].first)
	}
}

// newest returns the first of the newest n messages of a line, or of as many as
// there are, and their number. mu is held.
func (c *cache) newest(line, n uint32) (m, count uint32) {
	l := &c.lines[line]
	n = min(n, l.count)
	if n == 0 {
		return 0, 0
	}
	if n == l.count {
		return l.first, n
	}
	m = l.last
	for range n - 1 {
		m = c.blocks[m].before
	}
	return m, n
}

// use returns how many messages there are, and the bytes that they take.
func (c *cache) use() (messages, bytes int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return 0, 0
	}
	return c.total, (len(c.blocks) - 1 - int(c.free)) * cacheBlockBytes
}
