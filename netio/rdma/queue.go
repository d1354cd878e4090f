// SPDX-License-Identifier: Apache-2.0

//go:build libfabric && cgo

package rdma

import (
	"tagbus/internal/invariants"
	"tagbus/netio"
	"tagbus/netio/internal/handover"
)

// entry is an accepted send.
type entry struct {
	checksum invariants.Checksum

	handover.Entry
	bytes       int       // of the message
	headerBytes int       // of its header, which lies in queue.headers
	pieces      [][]byte  // of its data
	gathered    *gathered // a copy that is sent in their place; only in a step
	over        bool      // the device is through with it, perhaps before those in front; only in a step
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

// largest returns the bytes of the largest message that the other side takes. Mu is
// held.
func (q *queue) largest() int {
	if q.Tail == 0 {
		return q.firstBytes
	}
	return q.maxBytes
}

// push appends a message whose data lies in region. wake: the loop must be woken.
func (q *queue) push(key netio.Key, size int, header []byte, data [][]byte, region []byte) (wake bool, err error) {
	q.Mu.Lock()
	defer q.Mu.Unlock()
	if size > q.largest() {
		return false, netio.ErrTooLarge
	}
	if err := q.Reserve(); err != nil {
		return false, err
	}
	e := q.at(q.Tail)
	if err := e.setPieces(data, region); err != nil {
		e.empty()
		return false, err
	}
	e.Key, e.bytes = key, size
	e.headerBytes = copy(q.header(q.Tail), header)
	e.takeChecksum()
	return q.Commit(), nil
}

// pushBuffer appends a buffer of pool.
func (q *queue) pushBuffer(b *netio.Buffer, pool *netio.Pool) (wake bool, err error) {
	q.Mu.Lock()
	defer q.Mu.Unlock()
	if err := q.ReserveBuffer(b, pool, q.largest()); err != nil {
		return false, err
	}
	e := q.at(q.Tail)
	e.Entry = handover.Entry{Key: b.Key(), Buffer: b}
	e.bytes = len(b.Bytes())
	e.pieces = append(e.pieces, b.Bytes())
	e.takeChecksum()
	return q.Commit(), nil
}

// take returns the end of what there is to send. If there is nothing, the next
// sender wakes the loop.
func (q *queue) take() (tail uint64) {
	q.Mu.Lock()
	defer q.Mu.Unlock()
	return q.Look(q.posted)
}
