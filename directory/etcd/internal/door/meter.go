// SPDX-License-Identifier: Apache-2.0

package door

import (
	"encoding/binary"
	"sync"

	"tagbus/directory/etcd/internal/held"
)

// gRPC keeps what has come of a request until its last byte is there, and the request until its
// answer is made. So a caller that begins requests and does not end them, or ends many large ones
// at once, would take all memory. What a request says that it has takes room for it first, as
// answers do (package held); a connection is not read while there is none.
const (
	// longest is how many bytes of a request gRPC takes at most, about.
	longest = 2 << 20

	// shortest is how much a request counts at least, bytes.
	shortest = 2 << 10

	// lasting is from how many bytes on a request keeps its room when it has come as a whole.
	lasting = 64 << 10
)

// requestBounds are those of requests. An entry has 1.5 MiB at most, and is on its way for a moment.
var requestBounds = held.Bounds{InAll: 64 << 20, ForCaller: 16 << 20}

// meter finds out how much of requests a connection has brought that are not answered.
type meter struct {
	all  *held.Answers // of all connections
	conn *held.Conn

	mutex   sync.Mutex
	skip    int // bytes of the preface, to come
	in, out frames
	last    uint32 // stream that was begun
	streams map[uint32]*incoming
	touched []uint32 // have got data of late
}

// incoming is the request of a stream that has not ended.
type incoming struct {
	prefix [5]byte // of the message: whether it is compressed, and how long it is
	have   int     // bytes of prefix
	left   int     // of the message, to come
	size   int     // of the message
	room   *held.Answer
	ended  bool // nothing more is to come
}

// messagePrefix is how long a prefix is.
const messagePrefix = len(incoming{}.prefix)

// isPartial reports whether a message has begun, and is not there.
func (r *incoming) isPartial() bool { return r.have > 0 && !r.ended }

func newMeter(all *held.Answers, c *held.Conn) *meter {
	return &meter{all: all, conn: c, skip: prefaceBytes, streams: make(map[uint32]*incoming)}
}

// receives takes what was read of a connection. It returns when there is room for the requests that
// this has begun.
//
//   - Errors: held.ErrTooMany, of a caller that waits on too many connections; that of one that has ended.
func (m *meter) receives(b []byte) error {
	m.mutex.Lock()
	n := min(m.skip, len(b))
	m.skip, b = m.skip-n, b[n:]
	m.in.feed(b, m.takes)
	touched := m.touched
	m.touched = nil
	m.mutex.Unlock()
	for _, stream := range touched {
		if err := m.makeRoom(stream); err != nil {
			return err
		}
	}
	return nil
}

// makeRoom takes room for a message that has begun.
func (m *meter) makeRoom(stream uint32) error {
	m.mutex.Lock()
	r := m.streams[stream]
	if r == nil || r.room != nil || !r.isPartial() {
		m.mutex.Unlock()
		return nil
	}
	m.mutex.Unlock()
	room, err := m.all.Take(lifeOf{m.conn}, m.conn, max(shortest, min(r.size, longest)))
	if err != nil {
		return err
	}
	m.mutex.Lock()
	defer m.mutex.Unlock()
	if m.streams[stream] != r { // it has ended meanwhile
		room.Release()
		return nil
	}
	r.room = room
	return nil
}

// takes takes a piece of a frame. mutex is held.
func (m *meter) takes(data []byte, end bool) {
	stream := m.in.stream()
	switch m.in.kind() {
	case frameHeaders:
		if end && stream > m.last && !m.in.has(flagEnd) {
			m.last, m.streams[stream] = stream, &incoming{}
		}
	case frameReset:
		if end {
			m.drop(stream)
		}
	case frameData:
		r := m.streams[stream]
		if r == nil {
			return
		}
		m.grows(stream, r, data)
		if r.ended = r.ended || end && m.in.has(flagEnd); r.ended && (r.room == nil || r.have > 0) {
			m.drop(stream) // what is not whole fails
		}
	}
}

// grows adds data to a request. mutex is held.
func (m *meter) grows(stream uint32, r *incoming, data []byte) {
	for len(data) > 0 {
		if r.have < messagePrefix {
			if r.have == 0 {
				r.release() // of the message before
			}
			n := copy(r.prefix[r.have:], data)
			if r.have, data = r.have+n, data[n:]; r.have < messagePrefix {
				break
			}
			r.left = int(min(binary.BigEndian.Uint32(r.prefix[1:]), 1<<30))
			r.size = messagePrefix + r.left
		}
		n := min(len(data), r.left)
		if r.left, data = r.left-n, data[n:]; r.left == 0 {
			if r.have = 0; r.size < lasting {
				r.release()
			}
		}
	}
	if r.isPartial() && r.room == nil {
		m.touched = append(m.touched, stream)
	}
}

// release gives the room back.
func (r *incoming) release() {
	if r.room != nil {
		r.room.Release()
		r.room = nil
	}
}

// drop forgets a stream. mutex is held.
func (m *meter) drop(stream uint32) {
	if r := m.streams[stream]; r != nil {
		r.release()
		delete(m.streams, stream)
	}
}

// sends takes what is written to a connection: the end of an answer is that of its request.
func (m *meter) sends(b []byte) {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	m.out.feed(b, func(_ []byte, end bool) {
		if kind := m.out.kind(); end && (kind == frameReset || kind == frameHeaders && m.out.has(flagEnd)) {
			m.drop(m.out.stream())
		}
	})
}
