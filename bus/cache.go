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

// reserve returns a chain for a message of a line, and makes room: by dropping
// the oldest of the line if it is full, and then the oldest of all. It returns 0
// if that is not enough. mu is held.
func (c *cache) reserve(line, need uint32) (first uint32) {
	if c.closed || need >= uint32(len(c.blocks)) {
		return 0
	}
	if l := &c.lines[line]; l.count == c.depth {
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
func (c *cache) take(need uint32) (first uint32) {
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
func (c *cache) split(chain, n uint32) (last uint32) {
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
func (c *cache) cut(n uint32) (chain uint32) {
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
func (c *cache) write(chain uint32, data []byte) {
	for {
		b := &c.blocks[chain]
		data = data[copy(b.data[:], data):]
		if len(data) == 0 {
			return
		}
		chain = b.next
	}
}

// pieces calls f with the payload of a message, in pieces. mu is held.
func (c *cache) pieces(m uint32, f func(piece []byte)) {
	b := &c.blocks[m]
	for left := int(b.size); left > 0; b = &c.blocks[b.next] {
		n := min(left, cacheBlockData)
		f(b.data[:n])
		left -= n
	}
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
