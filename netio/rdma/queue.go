//go:build libfabric && cgo

package rdma

import (
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
	over        bool          // the device is through with it, perhaps before those in front; only in a step
}

// queue is a handover.Queue with a ring, of which the loop moves:
//
//	Head              done             posted            Tail
//	 | completed, to    | the device     | wait for        | free
//	 | be reported      | sends them     | credits         |
//
// An entry between Head and posted is the loop's.
type queue struct {
	handover.Queue

	// Set before the first send.
	maxBytes, firstBytes int // of a message, and of the first one
	ring                 []entry
	headers              []byte // headerStride for each entry
	prefix               int    // bytes in front of the header, for the frame of a message without connection

	// Only in a step.
	done, posted uint64
}

// open prepares q for messages to the other side.
func (q *queue) open(peer greeting, largest uint64, headers []byte) {
	q.maxBytes = int(min(uint64(peer.maxBytes), largest))
	q.firstBytes = min(q.maxBytes, int(peer.firstBytes))
	q.headers = headers
	q.ring = make([]entry, q.Places)
	pieces := make([][]byte, q.Places*MaxPieces)
	for i := range q.ring {
		q.ring[i].pieces = pieces[i*MaxPieces : i*MaxPieces : (i+1)*MaxPieces]
	}
}

func (q *queue) at(i uint64) *entry { return &q.ring[i&uint64(q.Places-1)] }

func (q *queue) headerStride() int { return q.prefix + netio.MaxHeaderBytes }

// header returns the place for the header of entry i, behind the prefix.
func (q *queue) header(i uint64) []byte { return q.withPrefix(i)[q.prefix:] }

// withPrefix returns the place for prefix and header of entry i.
func (q *queue) withPrefix(i uint64) []byte {
	at := int(i&uint64(q.Places-1)) * q.headerStride()
	return q.headers[at : at+q.headerStride()]
}

// fits tells whether the other side takes a message of size bytes. Mu is held.
// Errors: ErrTooLarge.
func (q *queue) fits(size int) error {
	if size > q.maxBytes || q.Tail == 0 && size > q.firstBytes {
		return netio.ErrTooLarge
	}
	return nil
}

// push appends a message whose data lies in region. tell: the loop must be told.
func (q *queue) push(key netio.Key, size int, header []byte, data [][]byte, region []byte) (tell bool, err error) {
	q.Mu.Lock()
	defer q.Mu.Unlock()
	if err := q.fits(size); err != nil {
		return false, err
	}
	if err := q.Reserve(); err != nil {
		return false, err
	}
	e := q.at(q.Tail)
	if err := e.setPieces(data, region); err != nil {
		e.empty()
		return false, err
	}
	e.key, e.bytes = key, size
	e.headerBytes = copy(q.header(q.Tail), header)
	e.takeChecksum()
	return q.Commit(), nil
}

// pushBuffer appends a buffer of pool.
func (q *queue) pushBuffer(b *netio.Buffer, pool *netio.Pool) (tell bool, err error) {
	q.Mu.Lock()
	defer q.Mu.Unlock()
	if err := q.MarkSent(b, pool); err != nil {
		return false, err
	}
	if err = q.fits(len(b.Bytes())); err == nil {
		err = q.ReserveBuffer()
	}
	if err != nil {
		b.UnmarkSent()
		return false, err
	}
	e := q.at(q.Tail)
	e.key, e.bytes = b.Key(), len(b.Bytes())
	e.buffer = b
	e.pieces = append(e.pieces, b.Bytes())
	e.takeChecksum()
	return q.Commit(), nil
}

// take returns the end of what there is to send. If that is nothing, the next
// sender tells the loop.
func (q *queue) take() (tail uint64) {
	q.Mu.Lock()
	defer q.Mu.Unlock()
	return q.Look(q.posted)
}

// finish empties entry i, which is the head of the queue, for the next send,
// and returns its key.
func (q *queue) finish(i uint64) netio.Key {
	e := q.at(i)
	key, buffer := e.key, e.buffer
	e.empty()
	// The place is free before the buffer is: so there is a place for each
	// buffer.
	q.Head.Store(i + 1)
	if buffer != nil {
		buffer.ReleaseSent()
	}
	return key
}
