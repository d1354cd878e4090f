// SPDX-License-Identifier: Apache-2.0

package memnet

import (
	"hash/maphash"
	"net/netip"
	"time"

	"tagbus/netio"
)

// link is one direction of a connection: what the sender's side has let go of
// and the receiver has not yet taken. It is guarded by the network's mutex.
type link struct {
	net      *Network
	from, to netip.AddrPort
	chunks   []chunk
	used     int       // bytes in chunks
	last     time.Time // when the last chunk arrives
}

// chunk is a piece of a message, or the end of the connection.
type chunk struct {
	size int // of the whole message, in its first piece; otherwise 0
	data []byte
	fin  bool
	due  time.Time // when it arrives; zero: at once
}

// push takes what fits of s into the window, at most that many bytes. It returns how
// many bytes it took.
func (l *link) push(s *send, most int) int {
	n := min(lookUp(l.net.windows, l.from, l.to, defaultWindowBytes)-l.used, s.size-s.taken, most)
	if n <= 0 {
		return 0
	}
	c := chunk{data: make([]byte, n)}
	if s.taken == 0 {
		c.size = s.size
	}
	s.read(c.data)
	l.used += n
	l.add(c)
	return n
}

// end puts the end of the connection behind what is under way.
func (l *link) end() { l.add(chunk{fin: true}) }

func (l *link) add(c chunk) {
	if d := lookUp(l.net.delays, l.from, l.to, 0); d > 0 {
		c.due = time.Now().Add(d)
	}
	if c.due.Before(l.last) { // the delay was shortened: nothing overtakes
		c.due = l.last
	}
	l.last = c.due
	l.chunks = append(l.chunks, c)
}

// gated reports whether a rule keeps what is under way from arriving.
func (l *link) gated() bool {
	return covered(l.net.stalls, l.from, l.to) || covered(l.net.partitions, l.from, l.to)
}

// take removes the first chunk, which is there.
func (l *link) take() chunk {
	c := l.chunks[0]
	l.chunks[0] = chunk{}
	l.chunks = l.chunks[1:]
	l.used -= len(c.data)
	return c
}

// clear loses what is under way.
func (l *link) clear() { l.chunks, l.used = nil, 0 }

// hashSeed makes the checksums of all sends comparable.
var hashSeed = maphash.MakeSeed()

// send is an accepted send that is not complete.
type send struct {
	key    netio.Key
	buf    *netio.Buffer // of SendBuffer
	pieces [][]byte      // what is not yet taken; header first
	size   int           // bytes in all
	taken  int           // bytes taken

	sum uint64       // of all bytes when the send was accepted
	was maphash.Hash // of the bytes as they were taken
}

func newSend(key netio.Key, pieces [][]byte, size int) *send {
	s := &send{key: key, pieces: pieces, size: size}
	s.was.SetSeed(hashSeed)
	var h maphash.Hash
	h.SetSeed(hashSeed)
	for _, p := range pieces {
		_, _ = h.Write(p) // never fails
	}
	s.sum = h.Sum64()
	return s
}

// read fills dst with the next bytes of the message.
func (s *send) read(dst []byte) {
	s.taken += len(dst)
	for rest := dst; len(rest) > 0; {
		k := copy(rest, s.pieces[0])
		rest = rest[k:]
		s.pieces[0] = s.pieces[0][k:]
		if len(s.pieces[0]) == 0 {
			s.pieces = s.pieces[1:]
		}
	}
	_, _ = s.was.Write(dst) // never fails
}

// changed reports, when all is taken, whether the bytes have changed since the send.
func (s *send) changed() bool { return s.was.Sum64() != s.sum }
