// SPDX-License-Identifier: Apache-2.0

package bus

import (
	"sync"
	"sync/atomic"

	"tagbus/bus/internal/retain"
	"tagbus/bus/internal/ring"
	"tagbus/bus/internal/wire"
	"tagbus/netio"
	"tagbus/tags"
)

// Of parcels.
const (
	// leastShared is the least size of a page that is kept in the memory of the transport. Less
	// is copied: that is cheap, and would keep much memory around it.
	leastShared = 2 << 10

	// mostShared is how many times its size the memory of a page may have.
	mostShared = 5

	parcelMessages = 1024     // of one that is made of single messages
	ownBytes       = 64 << 10 // of its memory, and of that of a free one
	freeParcels    = 16
)

// shelf has the pages of a subscription that keeps batches, on their way from the loop to those
// that take them. What a policy may lose is in the box of the inbox until then, message by message.
type shelf struct {
	sub   *subscriptionImpl
	limit int // payload, and mailbox.MessageBytes for each message
	ready atomic.Pointer[func()]
	call  func(Batch)   // instead of all that follows
	woken chan struct{} // capacity 1; for next

	mu      sync.Mutex
	filled  ring.Ring[*parcel]
	cost    int // of filled
	full    bool
	ended   bool
	err     error
	free    []*parcel
	alone   bool   // a batch that is taken does not count
	ahead   single // of the box, behind the last parcel that was made of it
	isAhead bool

	reading reading // of Messages

	waits atomic.Bool // take has found nothing, and is to be told

	// Loop only.
	open *parcel // of the page that is being delivered
	bell bell
}

// reading is what Messages has taken, for one iteration after the other. One goroutine at a time.
type reading struct {
	batch    Batch
	messages []Message
	at       int
}

// single is a message of the box.
type single struct {
	queued
	data []byte
}

// parcel is a Batch.
type parcel struct {
	shelf      *shelf
	generation atomic.Uint32
	origin     retain.Origin
	publisher  *Peer
	parts      []part
	messages   int
	bytes      int // payload
	size       int // of the page, as far as it is kept

	requests bool        // some have an id
	page     *dispatcher // that delivers it now, where nothing is copied or kept yet
	memory   *share      // nil: own
	own      []byte
	left     bool // own belongs to messages that are retained

	alone    bool // it is taken, and does not count
	kept     *retain.Origin
	keptTurn uint32
}

// part is a message, or a run of plain ones.
type part struct {
	tag     tags.Tag
	status  Status
	run     bool
	counter uint64  // of the first
	id      wire.ID // of a request
	n       int
	data    []byte // the payload, or the run
}

// share is memory of the transport with parcels in it.
type share struct {
	netio.Retained
	users atomic.Int32
}

// use adds a user, unless the memory was given back.
func (s *share) use() bool {
	for {
		n := s.users.Load()
		if n == 0 {
			return false
		}
		if s.users.CompareAndSwap(n, n+1) {
			return true
		}
	}
}

// Release implements netio.Retained.
func (s *share) Release() {
	if s.users.Add(-1) == 0 {
		s.Retained.Release()
	}
}

func newShelf(sub *subscriptionImpl, limit int) *shelf {
	s := &shelf{sub: sub, limit: limit, woken: make(chan struct{}, 1)}
	s.bell.init(sub.owner.loop, s.wake)
	return s
}

// add adds a message of the page that is being delivered. Loop only.
func (s *shelf) add(d *dispatcher, m Message) {
	p := s.opened(d)
	id := m.RequestID().id
	p.parts = append(p.parts, part{tag: m.Tag, status: m.Status, counter: m.Counter, id: id, n: 1, data: m.Data})
	p.requests = p.requests || id != (wire.ID{})
	p.messages++
	p.bytes += len(m.Data)
	p.size += len(m.Data)
}

// addRun adds the plain messages that follow. The first is like m. Loop only.
func (s *shelf) addRun(d *dispatcher, m Message) (messages, bytes int) {
	run, messages := d.Reader.Run()
	if messages == 0 {
		return 0, 0
	}
	bytes = len(run) - messages*wire.PlainBytes
	p := s.opened(d)
	p.parts = append(p.parts, part{tag: m.Tag, run: true, counter: m.Counter, n: messages, data: run})
	p.messages += messages
	p.bytes += bytes
	p.size += len(run)
	return messages, bytes
}

// opened returns the parcel of the page that is being delivered. Loop only.
func (s *shelf) opened(d *dispatcher) *parcel {
	if s.open == nil {
		s.open = s.parcel()
		s.open.publisher = d.src.contact.peer
		d.batches = append(d.batches, s.sub)
	}
	return s.open
}

// commit puts what was added of a page where it can be taken. Loop only.
func (s *shelf) commit(d *dispatcher) {
	p := s.open
	s.open = nil
	if d.Moved() { // as in gets
		p.keepOnly(s.sub.live)
	}
	if p.messages == 0 || s.sub.closed.Load() || d.src.sub.closed.Load() {
		s.recycle(p)
		return
	}
	if s.call != nil {
		s.deliver(d, p)
		return
	}
	if p.memory = d.share(p.size); p.memory == nil {
		p.copy()
	}
	s.mu.Lock()
	if s.ended {
		s.mu.Unlock()
		p.drop()
		return
	}
	s.filled.Push(p)
	size := p.size // from here on a reader may have it
	s.cost += p.cost()
	s.full = s.cost >= s.limit
	full := s.full
	s.mu.Unlock()
	if full {
		s.sub.stall(d.src)
	}
	s.told(size)
}

// share keeps the memory of the page that is being delivered, nil: it is to be copied. What is
// kept is at most mostShared times what lies in it.
//
//   - size: of what lies in it.
func (d *dispatcher) share(size int) *share {
	if size < leastShared {
		return nil
	}
	memory, known, err := d.hold()
	if err != nil {
		return nil
	}
	if !known && size < memory.Bytes()/mostShared {
		memory.Release()
		return nil
	}
	return memory
}

// hold keeps the memory of the page that is being delivered.
//
//   - known: it was kept before, of an earlier page.
//   - Errors: those of netio.Endpoint.Retain.
func (d *dispatcher) hold() (memory *share, known bool, err error) {
	if d.src.contact.ep == nil {
		return nil, false, netio.ErrNoMessage
	}
	kept, err := d.src.contact.ep.Retain()
	if err != nil {
		return nil, false, err
	}
	if last := d.shelved; last != nil && last.Retained == kept && last.use() {
		kept.Release()
		return last, true, nil
	}
	d.shelved = &share{Retained: kept}
	d.shelved.users.Store(1)
	return d.shelved, false, nil
}

// deliver calls the handler of batches. Loop only.
func (s *shelf) deliver(d *dispatcher, p *parcel) {
	p.page = d
	b := Batch{p, p.generation.Load()}
	tag, messages := p.parts[0].tag, p.messages // the handler may release it
	defer func() {
		v := recover()
		p.page = nil
		b.over()
		if v != nil {
			d.panicked(tag, messages, v)
		}
	}()
	s.call(b)
}

// told has those that wait for something told, at the end of the turn. Loop only.
func (s *shelf) told(bytes int) {
	s.bell.bytes += bytes
	if s.waits.Load() {
		s.bell.ring()
	}
}

// wake tells those that wait, if any do, and reports whether they may be goroutines.
func (s *shelf) wake() bool {
	if !s.waits.Swap(false) {
		return false
	}
	select {
	case s.woken <- struct{}{}:
	default:
	}
	ready := s.ready.Load()
	if ready != nil {
		(*ready)()
	}
	return ready == nil
}

// end ends the shelf behind its parcels. The first call decides the reason; nil: there is none.
func (s *shelf) end(err error) {
	s.mu.Lock()
	if !s.ended {
		s.ended, s.err = true, err
	}
	s.mu.Unlock()
	s.wake()
}
