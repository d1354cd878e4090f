//go:build libfabric && cgo

package rdma

import (
	"math"
	"sync/atomic"

	"tagbus/netio"
	"tagbus/netio/internal/handover"
	"tagbus/netio/internal/invariants"
)

// entry is an accepted send.
type entry struct {
	checksum invariants.Checksum

	key         netio.Key
	bytes       int           // of the message
	buffer      *netio.Buffer // of SendBuffer
	headerBytes int           // of its header, which lies in queue.headers
	pieces      [][]byte      // of its data
	gathered    *gathered     // a copy that is sent in their place; only in a step
}

// queue holds the sends of one endpoint from acceptance to completion, in a
// ring. The numbers of entries only grow:
//
//	head              done             posted            tail
//	 | completed, to    | the device     | wait for        | free
//	 | be reported      | sends them     | credits         |
//
// Senders append at tail, under mu. The loop moves the others without it; an
// entry between head and posted is the loop's.
type queue struct {
	limit  uint64 // of Send, and of SendBuffer if the buffers are shared
	places int    // limit and the endpoint's own buffers, a power of two
	shared bool   // the buffers are shared

	// Set before the first send.
	maxBytes, firstBytes int    // of a message, and of the first one
	headers              []byte // netio.MaxHeaderBytes for each entry

	mu     handover.Lock
	ring   []entry
	tail   uint64
	known  bool   // the loop will look at what is appended
	closed bool   // no sends any more
	most   uint64 // outstanding since the last call of room

	head    atomic.Uint64
	noPlace handover.Refusals

	// Only in a step.
	done, posted uint64
}

func (q *queue) init(b *backend, p *netio.Params) {
	q.mu.Off = b.config.ThreadSafety == netio.Unsafe
	q.shared = b.shared != nil
	q.limit = uint64(p.ZeroCopy.Outstanding)
	q.places = 1
	for q.places < p.ZeroCopy.Outstanding+p.Buffered.Buffers {
		q.places *= 2
	}
}

// open prepares q for messages to the other side.
func (q *queue) open(peer greeting, largest uint64, headers []byte) {
	q.maxBytes = int(min(uint64(peer.maxBytes), largest))
	q.firstBytes = min(q.maxBytes, int(peer.firstBytes))
	q.headers = headers
	q.ring = make([]entry, q.places)
	pieces := make([][]byte, q.places*MaxPieces)
	for i := range q.ring {
		q.ring[i].pieces = pieces[i*MaxPieces : i*MaxPieces : (i+1)*MaxPieces]
	}
}

func (q *queue) at(i uint64) *entry { return &q.ring[i&uint64(q.places-1)] }

// header returns the place for the header of entry i.
func (q *queue) header(i uint64) []byte {
	at := int(i&uint64(q.places-1)) * netio.MaxHeaderBytes
	return q.headers[at : at+netio.MaxHeaderBytes]
}

// messageBytes returns the size of a message, or why it cannot be sent.
func messageBytes(header []byte, data [][]byte) (int, error) {
	if len(header) > netio.MaxHeaderBytes {
		return 0, netio.ErrHeaderTooLarge
	}
	n := len(header)
	for _, piece := range data {
		if len(piece) > math.MaxInt32-n {
			return 0, netio.ErrTooLarge
		}
		n += len(piece)
	}
	if n == 0 {
		return 0, netio.ErrEmptyMessage
	}
	return n, nil
}

// reserve returns the next free entry, for less than limit outstanding ones, for
// a message of size bytes. mu is held; commit follows, or nothing.
func (q *queue) reserve(limit uint64, size int) (*entry, error) {
	switch {
	case q.closed:
		return nil, netio.ErrClosed
	case size > q.maxBytes || q.tail == 0 && size > q.firstBytes:
		return nil, netio.ErrTooLarge
	}
	if q.tail-q.head.Load() >= limit {
		q.noPlace.Add()
		if q.tail-q.head.Load() >= limit || !q.noPlace.Withdraw() {
			return nil, netio.ErrNoResources
		}
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

// push appends a message whose data lies in region. tell: the loop must be told.
func (q *queue) push(key netio.Key, size int, header []byte, data [][]byte, region []byte) (tell bool, err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	e, err := q.reserve(q.limit, size)
	if err != nil {
		return false, err
	}
	if err := e.setPieces(data, region); err != nil {
		e.empty()
		return false, err
	}
	e.key, e.bytes = key, size
	e.headerBytes = copy(q.header(q.tail), header)
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
	e, err := q.reserve(limit, len(b.Bytes()))
	if err != nil {
		b.UnmarkSent()
		return false, err
	}
	e.key, e.bytes = b.Key(), len(b.Bytes())
	e.buffer = b
	e.pieces = append(e.pieces, b.Bytes())
	e.takeChecksum()
	return q.commit(), nil
}

// take returns the end of what there is to send. If that is nothing, the next
// sender tells the loop.
func (q *queue) take() (tail uint64) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.known = q.posted != q.tail
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
