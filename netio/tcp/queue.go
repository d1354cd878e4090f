package tcp

import (
	"math"
	"sync/atomic"

	"tagbus/netio"
	"tagbus/netio/internal/handover"
)

const maxMessageBytes = math.MaxInt32

// queue holds the sends of one endpoint from acceptance to completion, in a
// ring that is made for the first of them. The numbers of entries only grow:
//
//	head              sent                  tail
//	 | taken by the     | to be taken, the    |
//	 | system, to be    | first of them in    | free
//	 | reported         | part                |
//
// Senders append at tail, under mu. The loop moves sent and head without it, so
// that nobody waits for a system call; an entry between them is the loop's.
type queue struct {
	memory *memory
	limit  uint64 // of Send, and of SendBuffer if the buffers are shared
	places int    // limit and the endpoint's own buffers, a power of two
	shared bool   // the buffers are shared

	mu     handover.Lock
	ring   []entry
	tail   uint64
	known  bool     // the loop will look at what is appended
	closed bool     // no sends any more
	most   uint64   // outstanding since the last call of room
	block  copies   // is being filled
	full   []copies // before it

	head    atomic.Uint64
	noPlace handover.Refusals

	// Only on the loop.
	sent       uint64
	offset     int // bytes of entry sent that the system has taken
	taken      int // its pieces in more that are among them
	takenBytes int // and their bytes
}

func (q *queue) init(b *backend, p *netio.Params) {
	q.memory = &b.memory
	q.mu.Off = b.config.ThreadSafety == netio.Unsafe
	q.shared = b.shared != nil
	q.limit = uint64(p.ZeroCopy.Outstanding)
	q.places = 1
	for q.places < p.ZeroCopy.Outstanding+p.Buffered.Buffers {
		q.places *= 2
	}
}

func (q *queue) at(i uint64) *entry { return &q.ring[i&uint64(len(q.ring)-1)] }

// frameBytes returns the size of a message, or why it cannot be sent.
func frameBytes(header []byte, data [][]byte) (int, error) {
	if len(header) > netio.MaxHeaderBytes {
		return 0, netio.ErrHeaderTooLarge
	}
	n := len(header)
	for _, piece := range data {
		if len(piece) > maxMessageBytes-n {
			return 0, netio.ErrTooLarge
		}
		n += len(piece)
	}
	if n == 0 {
		return 0, netio.ErrEmptyMessage
	}
	return n, nil
}

// reserve returns the next free entry, for less than limit outstanding ones.
// mu is held; commit follows, or nothing.
func (q *queue) reserve(limit uint64) (*entry, error) {
	if q.closed {
		return nil, netio.ErrClosed
	}
	if q.tail-q.head.Load() >= limit {
		q.noPlace.Add()
		if q.tail-q.head.Load() >= limit || !q.noPlace.Withdraw() {
			return nil, netio.ErrNoResources
		}
	}
	if q.ring == nil {
		q.ring = make([]entry, q.places)
	}
	return q.at(q.tail), nil
}

// commit accepts the entry, and tells whether the loop must be told.
func (q *queue) commit() (tell bool) {
	q.tail++
	q.most = max(q.most, q.tail-q.head.Load())
	tell = !q.known
	q.known = true
	return tell
}

// push appends a message that stays where it is. tell: the loop must be told.
func (q *queue) push(key netio.Key, size int, header []byte, data [][]byte) (tell bool, err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	e, err := q.reserve(q.limit)
	if err != nil {
		return false, err
	}
	e.key = key
	e.setHead(size, header)
	e.setPieces(data)
	e.takeChecksum()
	return q.commit(), nil
}

// pushBuffer appends a buffer of pool. There is always room for one of the
// endpoint's own: no more exist than there are places.
func (q *queue) pushBuffer(b *netio.Buffer, pool *netio.Pool) (tell bool, err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		return false, netio.ErrClosed
	}
	if !b.MarkSent(pool) {
		return false, netio.ErrForeignBuffer
	}
	if len(b.Bytes()) == 0 {
		b.UnmarkSent()
		return false, netio.ErrEmptyMessage
	}
	limit := uint64(math.MaxUint64)
	if q.shared {
		limit = q.limit
	}
	e, err := q.reserve(limit)
	if err != nil {
		b.UnmarkSent()
		return false, err
	}
	e.key = b.Key()
	e.buffer = b
	e.setHead(len(b.Bytes()), nil)
	e.pieces[0] = vector(b.Bytes())
	e.takeChecksum()
	return q.commit(), nil
}

// take returns the end of what there is to send. If that is nothing, the next
// sender tells the loop.
func (q *queue) take() (tail uint64) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.known = q.sent != q.tail
	q.reclaim()
	return q.tail
}

// close refuses further sends, and returns the end of those accepted.
func (q *queue) close() (tail uint64) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed = true
	return q.tail
}

// hasPlace tells whether Send would find a place.
func (q *queue) hasPlace() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.tail-q.head.Load() < q.limit
}

// room returns how many sends there is place for, and the fewest since the last
// call.
func (q *queue) room() (now, fewest int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	used := q.tail - q.head.Load()
	most := q.most
	q.most = used
	return int(q.limit - min(used, q.limit)), int(q.limit - min(max(used, most), q.limit))
}

// gather adds the memory of the entries from sent on, up to tail, to the next
// system call, as much as one takes.
func (q *queue) gather(to *sender, tail uint64) {
	to.skip(q.offset)
	for i := q.sent; i != tail && !to.full(); i++ {
		e := q.at(i)
		if e.headBytes > 0 && !to.add(vector(e.head[:e.headBytes])) {
			return
		}
		for _, v := range e.pieces {
			if v.Base != nil && !to.add(v) {
				return
			}
		}
		if len(e.more) > 0 {
			q.gatherMore(to, e, i == q.sent)
		}
	}
}

// gatherMore adds the pieces of e that did not fit in it. Those of the first
// entry that were taken before are not looked at again: there may be many.
func (q *queue) gatherMore(to *sender, e *entry, first bool) {
	begin := 0
	if first {
		begin = q.taken
		to.skipped(q.takenBytes)
	}
	for i, v := range e.more[begin:] {
		if first && to.before >= int(v.Len) {
			q.taken = begin + i + 1
			q.takenBytes += int(v.Len)
		}
		if !to.add(v) {
			return
		}
	}
}

// advance notes that the system has taken n bytes, and returns the messages,
// and their bytes, that it now has taken whole.
func (q *queue) advance(n int) (messages, bytes int) {
	q.offset += n
	for q.offset > 0 {
		e := q.at(q.sent)
		if q.offset < e.bytes {
			break
		}
		q.offset -= e.bytes
		q.taken, q.takenBytes = 0, 0
		q.sent++
		messages++
		bytes += e.bytes - lengthBytes
	}
	return messages, bytes
}

// finish empties entry i, which is the head of the queue, for the next send,
// and returns its key.
func (q *queue) finish(i uint64) netio.Key {
	e := q.at(i)
	key, buffer := e.key, e.buffer
	e.empty()
	// The place is free before the buffer is: so there is a place for each
	// buffer.
	q.head.Store(i + 1)
	if buffer != nil {
		buffer.ReleaseSent()
	}
	return key
}
