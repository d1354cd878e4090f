// SPDX-License-Identifier: Apache-2.0

package bus

import (
	"context"
	"errors"
	"io"
)

// next takes a batch, and waits for one.
//
// Errors: as Subscription.TakeBatch without ErrNoBatch and ErrRetainLimit; the cause of the end of
// ctx.
func (s *shelf) next(ctx context.Context) (Batch, error) {
	for {
		if ctx.Err() != nil {
			return Batch{}, context.Cause(ctx)
		}
		b, err := s.take(false)
		if !errors.Is(err, ErrNoBatch) {
			if err == nil {
				s.pass()
			}
			return b, err
		}
		select {
		case <-s.woken:
			if ctx.Err() != nil {
				s.pass()
			}
		case <-ctx.Done():
			return Batch{}, context.Cause(ctx)
		}
	}
}

// pass wakes the next of those that wait in next, as one wake-up was for all that has come.
func (s *shelf) pass() {
	s.mu.Lock()
	more := s.filled.Len() > 0 || s.isAhead || s.ended
	if !more {
		s.waits.Store(true) // for the others
	}
	s.mu.Unlock()
	if more {
		select {
		case s.woken <- struct{}{}:
		default:
		}
	}
}

// take takes the next batch.
//
//   - counts: it counts as retained.
//   - Errors: as Subscription.TakeBatch.
func (s *shelf) take(counts bool) (b Batch, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.fill(); err != nil {
		return Batch{}, err
	}
	p := *s.filled.Front()
	if counts {
		if !s.alone {
			s.alone, p.alone = true, true
		} else if err := p.retain(); err != nil {
			return Batch{}, err
		}
	}
	s.filled.Pop()
	if s.cost -= p.cost(); s.full && s.cost <= s.limit/2 {
		s.full = false
		s.sub.owner.loop.Post(s.sub.unpause)
	}
	return Batch{p, p.generation.Load()}, nil
}

// fill has a parcel in filled, or says why there is none. mu is held.
func (s *shelf) fill() error {
	if s.filled.Len() > 0 {
		return nil
	}
	if s.unbox() {
		return nil
	}
	if !s.ended {
		s.waits.Store(true)
		if s.unbox() { // what came before that was not told
			return nil
		}
		return ErrNoBatch
	}
	if s.err != nil {
		return s.err
	}
	return io.EOF
}

// unbox makes a parcel of messages of the box. mu is held.
func (s *shelf) unbox() bool {
	if s.sub.inbox == nil {
		return false
	}
	box := s.sub.inbox.box
	m, ok := s.single()
	if !ok && box.TryNext() {
		m, ok = s.single()
	}
	if !ok {
		return false
	}
	p := s.newParcel()
	p.publisher = m.publisher
	for ok && m.publisher == p.publisher && p.fits(m) {
		p.addSingle(m)
		m, ok = s.single()
	}
	if ok {
		s.ahead, s.isAhead = m, true
	}
	s.filled.Push(p)
	s.cost += p.cost()
	return true
}

// single returns the next message that the box has ready. mu is held.
func (s *shelf) single() (single, bool) {
	if s.isAhead {
		m := s.ahead
		s.ahead, s.isAhead = single{}, false
		return m, true
	}
	m, data, ok := s.sub.inbox.box.Take()
	return single{m, data}, ok
}

// parcel returns an empty parcel.
func (s *shelf) parcel() *parcel {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.newParcel()
}

// newParcel is parcel; mu is held.
func (s *shelf) newParcel() *parcel {
	if last := len(s.free) - 1; last >= 0 {
		p := s.free[last]
		s.free[last] = nil
		s.free = s.free[:last]
		return p
	}
	p := &parcel{shelf: s}
	p.origin.Init(s.sub.owner.retainer, p.keep)
	return p
}

// recycle takes back a parcel of which nothing is used any more.
func (s *shelf) recycle(p *parcel) {
	clear(p.parts)
	if p.left || cap(p.own) > ownBytes {
		p.own = nil
	}
	p.parts, p.own, p.publisher, p.memory, p.left = p.parts[:0], p.own[:0], nil, nil, false
	p.messages, p.bytes, p.size, p.requests = 0, 0, 0, false
	s.mu.Lock()
	defer s.mu.Unlock()
	if p.alone {
		p.alone, s.alone = false, false
	}
	if len(s.free) < freeParcels {
		s.free = append(s.free, p)
	}
}
