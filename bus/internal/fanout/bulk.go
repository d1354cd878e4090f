// SPDX-License-Identifier: Apache-2.0

package fanout

import "time"

// A full page is sent by the loop or by the publishing goroutine. If the loop sends it, the
// publishing goroutine fills the next one meanwhile. But the loop reads the page from
// another processor's cache, and on few processors the loop, the publishing goroutine and a
// subscriber on the same host are in each other's way. If the publishing goroutine sends
// it, the page is still in its cache.
//
// So the publishing goroutine sends a full page if filling it takes little time beside
// sending it, or beside what a subscriber needs for its messages: then nothing is lost by
// doing one after the other. The first two times are measured. Of filling the least lately
// counts, since a goroutine may lose its processor or wait for room.
const (
	bulkUnit  = 64 << 10 // bytes that the times are for
	firstFill = time.Second
	firstBulk = 8 * time.Microsecond
	leastBulk = time.Microsecond

	// mostDirect is the longest message that the publishing goroutine sends: the mutexes
	// of the stream and of the connection are held meanwhile.
	mostDirect = 1<<20 + bulkUnit

	// handling is what a subscriber needs for a message beside its copy, at least.
	handling = 10 * time.Nanosecond
)

// bulk is what a stream knows of its full pages. Guarded by stream.mu, in nanoseconds for
// bulkUnit bytes.
type bulk struct {
	fill int64 // the least lately
	send int64 // directly, lately; too long if that was preempted, so that it is tried again
}

// filled decides whether this goroutine sends the page, which is being sealed because the
// next message does not fit, or because its message is large. It returns the time; 0: the
// page is not full, or the policy decides about its messages. mu is held.
func (s *stream) filled(bytes int) (at int64) {
	if s.page == nil || s.solo != nil || bytes < s.fullBytes() {
		return 0
	}
	at = s.fan.now()
	s.warmth.end(s.filling, at, bytes)
	if s.fan.cfg.FlushInterval > 0 {
		return 0
	}
	b := &s.bulks
	b.fill = min(b.fill+b.fill/8+1, (at-s.done)*bulkUnit/int64(bytes))
	s.full, s.sent = true, at
	s.bulk, s.directs = s.isBulk(bytes), 0
	return at
}

// fullBytes returns how long a page is that counts as full. A message that has no room in
// the rest of a buffer, but would have in a whole one, says nothing of those that follow.
// mu is held.
func (s *stream) fullBytes() int {
	if s.page.large() {
		return s.fan.cfg.PageBytes * 7 / 8
	}
	return s.fan.cfg.PageBytes / 2
}

// sentFull notes what became of the page, now that it is sealed. mu is held.
func (s *stream) sentFull(at int64, bytes int) {
	if at == 0 {
		return
	}
	b := &s.bulks
	if s.done = at; !s.bulk {
		b.send += (int64(firstBulk) - b.send) >> 6 // so that it is tried again
		return
	}
	s.bulk, s.done = false, s.fan.now()
	if s.directs > 0 {
		b.send = max(int64(leastBulk), (s.done-at)*bulkUnit/int64(bytes))
	}
}

// isBulk reports whether this goroutine is to send a full page of so many bytes. A page
// that is rather short would wake the subscriber too often. mu is held.
func (s *stream) isBulk(bytes int) bool {
	handled := int64(s.writer.Messages) * int64(handling) * bulkUnit / int64(bytes)
	quick := s.bulks.fill <= max(s.bulks.send/2, handled)
	return quick && len(s.lanes) == 1 && s.beside == 0 && 8*bytes >= 7*s.fan.cfg.PageBytes && bytes <= mostDirect
}
