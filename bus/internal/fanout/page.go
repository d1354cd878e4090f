package fanout

import (
	"slices"
	"sync/atomic"
	"unsafe"

	"tagbus/bus/internal/wire"
	"tagbus/netio"
	"tagbus/tags"
)

// page is one page's worth of messages on its way. The memory of a page is one buffer,
// or several for a message that is larger than a page. It is written under the mutex of
// its stream until it is sealed, and only read from then on.
type page struct {
	key      netio.Key
	buffers  []*netio.Buffer
	vector   [][]byte // the memory of the buffers, as far as it is filled
	bytes    int
	messages uint32
	refs     atomic.Int32 // lanes that have yet to send it
	receipt  *Receipt     // of the last message, if a caller waits for it to be handled
	extent   extent
	lent     []byte // the payload of the only message, if it is lent
	done     func() // gives it back
}

// PageStateBytes is the memory that Init takes for each buffer of the pool.
const PageStateBytes = int(unsafe.Sizeof(page{}))

// extent is the size of a page.
type extent struct {
	buffers int   // of the pool that it takes
	counted int64 // for which the lanes count it: more, if a payload is lent
}

// start notes that a writer has filled n bytes of the first buffer.
func (p *page) start(n int) {
	p.buffers[0].Truncate(0)
	p.buffers[0].Extend(n)
}

// put adds bytes behind those in buffer i and returns the buffer of the last.
func (p *page) put(i int, data []byte) int {
	for {
		b := p.buffers[i]
		n := min(len(data), b.Available())
		copy(b.Extend(n), data)
		if data = data[n:]; len(data) == 0 {
			return i
		}
		i++
	}
}

// complete makes the output of a writer ready to be sent.
func (p *page) complete(w *wire.Writer) {
	p.messages = w.Messages
	if p.extent.buffers == 1 {
		p.start(len(w.Mem))
	}
	p.bytes = wire.HeaderBytes
	for _, b := range p.buffers {
		p.vector = append(p.vector, b.Bytes())
		p.bytes += len(b.Bytes())
	}
	if p.lent != nil {
		p.vector = append(p.vector, p.lent)
		p.bytes += len(p.lent)
	}
}

// tags calls f once for each run of messages of one tag in a sealed page.
func (p *page) tags(f func(tag tags.Tag, count uint64)) {
	wire.Tags(p.vector[0], p.messages, f) // a page of several buffers has only one message
}

// pageSize returns how many buffers a page for a message of n bytes takes.
func (fan *Fanout) pageSize(n int) int {
	return (wire.HeaderBytes + wire.MaxOverhead + n + fan.pageBytes - 1) / fan.pageBytes
}

// extentOf returns the extent of a page for a message of n bytes.
func (fan *Fanout) extentOf(n int) extent {
	size := fan.pageSize(n)
	return extent{size, int64(size)}
}

// newPage makes a page of buffers.
func (fan *Fanout) newPage(x extent, buffers []*netio.Buffer) *page {
	p := &fan.pages[buffers[0].Key()]
	p.buffers = append(p.buffers[:0], buffers...)
	p.vector = p.vector[:0]
	p.extent, p.receipt = x, nil
	return p
}

// release gives up one reference to a page; the last one frees its memory.
func (fan *Fanout) release(p *page) {
	if p.refs.Add(-1) == 0 {
		if p.done != nil {
			fan.loans.giveBack(p)
		}
		// The first buffer goes last: with it the page struct is free for
		// another goroutine.
		for _, b := range slices.Backward(p.buffers) {
			b.Release()
		}
		if fan.dry.Load() && fan.dry.Swap(false) { // as in Lane.unpin
			fan.roomFreed()
		}
	}
}
