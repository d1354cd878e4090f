// SPDX-License-Identifier: Apache-2.0

package fanout

import (
	"sync"

	"tagbus/bus/internal/arena"
	"tagbus/bus/internal/ring"
	"tagbus/bus/internal/wire"
	"tagbus/netio"
	"tagbus/tags"
)

// lentShare is the part of a page from which on a payload is not copied. A smaller one
// is cheaper to copy into a shared page than to send as a page of its own.
const lentShare = 8

// Lend publishes a message without copying it, if that is possible and worth while, and
// otherwise a copy.
//
//   - done: called on the loop, in Config.Call, once data is not read any more, or at once if it
//     is copied; nil: there is no call. If there is an error, it is not called.
//   - Errors: as Publish.
func (fan *Fanout) Lend(tag tags.Tag, status wire.Status, data []byte, done func()) error {
	if done == nil {
		done = func() {}
	}
	lent, err := fan.publishLent(tag, status, payload{mem: data, done: done})
	if !lent {
		if err = fan.Publish(tag, status, data, nil); err == nil {
			done()
		}
	}
	return err
}

// payload is what is published without a copy.
type payload struct {
	mem   []byte
	front int          // bytes of mem before the data, for the header of its page
	chunk *arena.Chunk // of mem, if it is of the arena; released in the place of done
	done  func()
}

func (x payload) data() []byte { return x.mem[x.front:] }

// lends reports whether a payload of n bytes is published without a copy.
func (fan *Fanout) lends(n int) bool { return n >= fan.cfg.PageBytes/lentShare }

// publishLent publishes a message without copying it, also of memory of the arena, from which
// all transports send. If that is not possible or not worth while it does nothing: lent is false.
//
// Errors: ErrNoRoom; lent is true. It is not wrapped.
func (fan *Fanout) publishLent(tag tags.Tag, status wire.Status, x payload) (lent bool, err error) {
	if n := len(x.data()); !fan.lends(n) || n > fan.cfg.MaxMessageBytes {
		return false, nil
	}
	t := fan.tags.Get(tag)
	s := t.lockOnly()
	if s == nil {
		return false, nil
	}
	defer s.mu.Unlock()
	if x.chunk == nil && fan.ownOnly.Load() > 0 { // locked: no connection joins the lanes meanwhile
		return false, nil
	}
	if t.removed || s.closed || s.solo != nil || len(s.lanes) == 0 {
		return false, nil
	}
	if err := s.appendLent(tag, status, x); err != nil {
		return true, err
	}
	t.accepted(fan, status, x.data())
	return true, nil
}

// appendLent publishes a message to the stream's subscribers, as a page of its own that
// refers to the payload. mu is held, and there are lanes.
//
// Errors: ErrNoRoom; then nothing is published.
func (s *stream) appendLent(tag tags.Tag, status wire.Status, x payload) error {
	s.seal()
	n := len(x.data())
	need := askFor(n)
	need.memory, need.alone = wire.MaxOverhead, true
	if err := s.fan.open(need, s); err != nil {
		return err
	}
	s.messages++
	s.bytes += uint64(n)
	if s.page == nil { // all lanes may lose it, and the pool is empty
		s.loseAll(tag)
		if x.chunk != nil {
			x.chunk.Release()
		} else {
			s.fan.loans.add(x.done)
		}
		return nil
	}
	s.writer.Header(tag, status, 0, n)
	s.page.lend(s.writer.Mem, x)
	s.sealPage()
	return nil
}

// loans are lent payloads that no lane needs any more, on their way back.
// done is called on the loop, since locks may be held where a loan ends.
type loans struct {
	loop netio.Loop
	tell func() // calls settle on the loop

	mu   sync.Mutex
	back ring.Ring[func()]
	told bool // settle is going to be called
}

// add notes that done is to be called.
func (b *loans) add(done func()) {
	b.mu.Lock()
	b.back.Push(done)
	tell := !b.told
	b.told = true
	b.mu.Unlock()
	if tell {
		b.loop.Post(b.tell) // false if the loop has ended: Free will do it
	}
}

// settle calls done for the payloads that are back by now. A call may bring back more,
// which wait for the next turn of the loop. If one panics, Free calls the others.
// settle runs on the loop, or when nothing is lent any more.
func (b *loans) settle() {
	b.mu.Lock()
	b.told = false
	n := b.back.Len()
	b.mu.Unlock()
	for ; n > 0; n-- {
		b.mu.Lock()
		if b.back.Len() == 0 { // Free has been faster
			b.mu.Unlock()
			return
		}
		done := b.back.Pop()
		b.mu.Unlock()
		done()
	}
}
