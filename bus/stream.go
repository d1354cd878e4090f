package bus

import (
	"sync"
	"sync/atomic"

	"tagbus/netio"
	"tagbus/tags"
)

// stream is the pages of all tags that the same set of subscribers wants: a
// message is copied once, into the page under construction, and the page is
// queued by reference at every subscriber of the set.
type stream struct {
	pub   *Publisher
	links []*link // fixed; ascending ids

	mu       sync.Mutex
	page     *page // under construction, or nil
	writer   pageWriter
	closed   bool
	messages uint64
	bytes    uint64

	routes int // routes that use the stream; Publisher.mu
}

// page is one page's worth of messages on its way. The memory of a page is one
// buffer, or several for a message that is larger than a page.
type page struct {
	key      netio.Key
	buffers  []*netio.Buffer
	vector   [][]byte // the memory of the buffers, as far as it is filled
	bytes    int
	messages uint32
	refs     atomic.Int32 // subscribers that have yet to send it
}

// size returns the page's size in buffers, which is how subscribers' queues
// and the pool count.
func (p *page) size() int { return len(p.buffers) }

// append publishes a message to the stream's subscribers. mu is held.
//
// Errors: ErrNoResources, ErrClosed; then nothing was published.
func (s *stream) append(tag tags.Tag, status Status, data []byte) error {
	if s.page == nil || !s.writer.append(tag, status, data) {
		if err := s.prepare(len(data)); err != nil {
			return err
		}
		s.commit(tag, status, data)
	}
	s.messages++
	s.bytes += uint64(len(data))
	return nil
}

// prepare makes room for a message of n bytes, so that commit cannot fail. mu
// is held.
func (s *stream) prepare(n int) error {
	if s.closed {
		return ErrClosed
	}
	if len(s.links) == 0 {
		return nil
	}
	need := pageHeaderBytes + maxRecordOverhead + n
	if s.page != nil && s.writer.messages > 0 && len(s.writer.mem)-pageHeaderBytes+need > cap(s.writer.mem) {
		s.seal()
	}
	size := max(1, (need+s.pub.pageBytes-1)/s.pub.pageBytes)
	if s.page != nil && s.page.size() != size {
		s.abandon() // prepared for another message that was not published
	}
	if s.page != nil {
		return nil
	}
	return s.open(size)
}

// commit publishes a message for which prepare has made room. mu is held.
func (s *stream) commit(tag tags.Tag, status Status, data []byte) {
	if len(s.links) == 0 {
		return
	}
	if s.page.size() > 1 {
		s.commitLarge(tag, status, data)
		return
	}
	s.writer.append(tag, status, data)
	if s.writer.messages == 1 {
		s.pub.armFlush()
	}
}

// commitLarge fills a page of several buffers with one message. They travel as
// one transport message, so that the subscriber has it in one piece.
func (s *stream) commitLarge(tag tags.Tag, status Status, data []byte) {
	s.writer.header(tag, status, len(data))
	for i, b := range s.page.buffers {
		if i == 0 {
			b.Truncate(0)
			b.Extend(len(s.writer.mem))
		}
		n := min(len(data), b.Available())
		copy(b.Extend(n), data)
		data = data[n:]
	}
	s.seal()
}

// open begins a page of size buffers, if all subscribers and the pool have
// room: all or nothing. mu is held.
func (s *stream) open(size int) error {
	if s.tryOpen(size) {
		return nil
	}
	// Room that is freed after this line is announced by OnReady; room that
	// was freed before it, the second try finds.
	s.pub.refused()
	if s.tryOpen(size) {
		return nil
	}
	return ErrNoResources
}

func (s *stream) tryOpen(size int) bool {
	for i, l := range s.links {
		if !l.reserve(int64(size)) {
			s.unreserve(s.links[:i], size)
			return false
		}
	}
	p := s.pub.newPage(size)
	if p == nil {
		s.unreserve(s.links, size)
		return false
	}
	s.page = p
	s.writer.reset(p.buffers[0].Bytes())
	return true
}

func (s *stream) unreserve(links []*link, size int) {
	for _, l := range links {
		l.unreserve(int64(size))
	}
}

// abandon gives up a page without messages. mu is held.
func (s *stream) abandon() {
	s.unreserve(s.links, s.page.size())
	s.page.refs.Store(1)
	s.pub.release(s.page)
	s.page = nil
}

// seal ends the page under construction and queues it. mu is held.
func (s *stream) seal() {
	p := s.page
	if p == nil {
		return
	}
	if s.writer.messages == 0 {
		s.abandon()
		return
	}
	s.page = nil
	s.writer.finish()
	p.messages = s.writer.messages
	if p.size() == 1 {
		b := p.buffers[0]
		b.Truncate(0)
		b.Extend(len(s.writer.mem))
	}
	p.bytes = 0
	for _, b := range p.buffers {
		p.vector = append(p.vector, b.Bytes())
		p.bytes += len(b.Bytes())
	}
	p.refs.Store(int32(len(s.links)))
	for _, l := range s.links {
		l.enqueue(p)
	}
}

// flush seals the page unless every subscriber is busy anyway: then waiting
// makes fuller pages and delays nothing. It returns whether a page remains.
func (s *stream) flush() (open bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.page == nil || s.writer.messages == 0 {
		return false
	}
	for _, l := range s.links {
		if !l.busy() {
			s.seal()
			return false
		}
	}
	return true
}

// sealNow seals the page. For a change of routes, and at the end.
func (s *stream) sealNow() {
	s.mu.Lock()
	s.seal()
	s.mu.Unlock()
}
