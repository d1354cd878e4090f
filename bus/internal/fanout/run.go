// SPDX-License-Identifier: Apache-2.0

package fanout

import (
	"tagbus/bus/internal/wire"
)

// A stream writes its page into a run of memory that may be much longer than the page is
// going to be. At its lanes it reserves room for what the page probably takes, and for more
// while the page grows. So pages under construction do not fill the lanes.

// minWant is the least room that is reserved for a page, in bytes.
const minWant = 2 << 10

// want returns how much room a page is to have at first: twice what the last one took.
// mu is held.
func (s *stream) want(x ask) int64 {
	if x.alone {
		return x.counted
	}
	return max(x.counted, int64(min(max(2*s.last, minWant), s.fan.cfg.PageBytes)))
}

// takePage gives the stream a page with memory for n bytes, in which nothing is written
// yet, or returns false if there is none. mu is held, and fan.openMu.
func (s *stream) takePage(n int) (ok bool) {
	if s.run, ok = s.fan.arena.Take(s.run[:0], &s.tail, n); !ok {
		return false
	}
	if s.page = s.fan.pages.get(false); s.page == nil {
		s.fan.arena.Undo(s.run)
	}
	return s.page != nil
}

// undoPage undoes takePage. mu is held, and fan.openMu.
func (s *stream) undoPage() {
	if s.page != nil {
		s.fan.arena.Undo(s.run)
		s.fan.pages.put(s.page)
		s.page = nil
	}
}

// begin starts the page of takePage, for which all lossless lanes have room. A message
// follows at once, so no page is ever open and empty. mu is held, and fan.openMu.
func (s *stream) begin(x ask) {
	s.page.take(s.run)
	s.fresh = true
	bytes := s.want(x)
	for i, n := range s.lanes {
		if s.held[i] = n.reserve(x.counted, bytes); s.held[i] > 0 {
			bytes = min(bytes, s.held[i])
		}
	}
	s.writer.Positions = s.solo != nil
	s.writer.Reset(s.page.one[0])
	s.limit(int(bytes))
}

// limit ends the memory of the page at so many bytes on the wire. mu is held.
func (s *stream) limit(bytes int) {
	mem := s.page.one[0]
	s.writer.Mem = mem[:len(s.writer.Mem):min(bytes-wire.HeaderBytes, len(mem))]
}

// fits reports whether a message of n bytes fits into the page. It lets the page grow if
// there is room at all lanes. mu is held.
func (s *stream) fits(n int) bool {
	if s.page == nil {
		return false
	}
	if s.writer.Fits(n) {
		return true
	}
	if s.solo != nil {
		n += wire.PositionBytes
	}
	have := cap(s.writer.Mem)
	need := len(s.writer.Mem) + wire.MaxOverhead + n
	most := min(len(s.page.one[0]), s.fan.cfg.PageBytes-wire.HeaderBytes)
	if s.page.large() || need > most {
		return false
	}
	more := s.fan.extend(s, int64(need-have), int64(min(max(2*have, need), most)-have))
	s.limit(have + int(more) + wire.HeaderBytes)
	return more > 0
}
