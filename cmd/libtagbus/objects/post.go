// SPDX-License-Identifier: Apache-2.0

package objects

import (
	"errors"
	"io"
	"sync"

	"tagbus/bus"
	"tagbus/tags"
)

// WorkKind is what a thread of the library is to do.
type WorkKind int32

// The kinds of work, as in core.h.
const (
	WorkEvent WorkKind = iota + 1
	WorkBatch
	WorkEnd
	WorkDone
	WorkFence
	WorkQuit
)

// Work is one callback for a thread of the library to make.
type Work struct {
	Kind     WorkKind
	Fn, User uintptr
	Event    bus.Event     // of WorkEvent
	Code     Code          // of WorkEnd
	Text     string        // of WorkEnd
	Batch    bus.Batch     // of WorkBatch
	Sub      *Subscription // of WorkBatch
}

// What waits for a program that does not return from its callbacks.
const (
	mostEvents = 16 << 10 // others than gaps, before the newest are dropped
	mergeFrom  = 64       // that wait, from which on gaps are merged with one that waits
)

// post is what a thread of the library has to do.
//
// Threads: any.
type post struct {
	ring func() // wakes the thread

	mu      sync.Mutex
	queue   []Work
	taken   uint64            // how many were in queue before its first one
	gaps    map[gapKey]uint64 // the number of the one that waits, from the first that ever was in queue on
	events  int               // in queue
	dropped uint64
	fn      uintptr // of events
	user    uintptr
	ready   []*Subscription // that may have batches
	quit    bool
}

// gapKey says which gaps are one.
type gapKey struct {
	peer *bus.Peer
	tag  tags.Tag
	err  error
}

func keyOf(e bus.Event) gapKey { return gapKey{e.Peer, e.Tag, e.Err} }

// add adds work. It returns false if the thread has been told to end.
func (p *post) add(w Work) bool {
	p.mu.Lock()
	defer p.ring()
	defer p.mu.Unlock()
	if p.quit {
		return false
	}
	p.quit = w.Kind == WorkQuit
	p.queue = append(p.queue, w)
	return true
}

// event adds an event. Gaps are never dropped: one that waits takes over the count of the next.
func (p *post) event(e bus.Event) {
	p.mu.Lock()
	defer p.ring()
	defer p.mu.Unlock()
	if p.quit {
		return
	}
	if e.Kind == bus.Gap && p.events >= mergeFrom {
		key := keyOf(e)
		if i, ok := p.gaps[key]; ok {
			p.queue[i-p.taken].Event.Count += e.Count
			return
		}
		if p.gaps == nil {
			p.gaps = make(map[gapKey]uint64)
		}
		p.gaps[key] = p.taken + uint64(len(p.queue))
	} else if e.Kind != bus.Gap && p.events >= mostEvents {
		p.dropped++
		return
	}
	p.events++
	p.queue = append(p.queue, Work{Kind: WorkEvent, Fn: p.fn, User: p.user, Event: e})
}

// markReady notes that a subscription may have batches, unless that is noted.
func (p *post) markReady(s *Subscription) {
	p.mu.Lock()
	defer p.ring()
	defer p.mu.Unlock()
	if !s.listed && !p.quit {
		s.listed = true
		p.ready = append(p.ready, s)
	}
}

// take moves work to items, and returns how much.
func (p *post) take(items []Work) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := copy(items, p.queue)
	for i := range items[:n] {
		p.forget(&items[i], p.taken+uint64(i))
	}
	clear(p.queue[:n])
	p.taken += uint64(n)
	if p.queue = p.queue[n:]; len(p.queue) == 0 {
		p.queue, p.gaps = nil, nil
	}
	if p.dropped > 0 && n < len(items) && !p.quit {
		items[n] = Work{Kind: WorkEvent, Fn: p.fn, User: p.user, Event: bus.Event{Kind: bus.Problem, Err: &bus.EventsDroppedError{Events: p.dropped}}}
		p.dropped = 0
		n++
	}
	for len(p.ready) > 0 && n < len(items) && len(p.queue) == 0 && !p.quit {
		s := p.ready[0]
		p.ready = p.ready[1:]
		w, more := s.work()
		if more {
			p.ready = append(p.ready, s)
		} else {
			s.listed = false
		}
		if w.Kind != 0 {
			items[n] = w
			n++
			break // what came meanwhile is not behind many pages
		}
	}
	return n
}

// forget notes that work is taken, which had a number. mu is held.
func (p *post) forget(w *Work, number uint64) {
	if w.Kind != WorkEvent {
		return
	}
	p.events--
	if w.Event.Kind != bus.Gap {
		return
	}
	if key := keyOf(w.Event); p.gaps[key] == number {
		delete(p.gaps, key)
	}
}

// work returns the next callback of a subscription, and whether there may be more. post.mu is held.
func (s *Subscription) work() (w Work, more bool) {
	if s.closed || s.over {
		return Work{}, false
	}
	s.listed = false // what comes from here on lists it again
	b, err := s.sub.ReadBatch()
	switch {
	case err == nil:
		s.listed = true
		return Work{Kind: WorkBatch, Fn: s.call.Batch, User: s.call.User, Batch: b, Sub: s}, true
	case errors.Is(err, bus.ErrNoBatch):
		return Work{}, false
	case errors.Is(err, io.EOF):
		err = nil
	}
	s.over = true
	if s.call.End == 0 {
		return Work{}, false
	}
	return Work{Kind: WorkEnd, Fn: s.call.End, User: s.call.User, Code: endCode(err), Text: TextOf(err)}, false
}

// endCode returns the code of the end of a subscription.
func endCode(err error) Code {
	if err == nil || errors.Is(err, bus.ErrClosed) {
		return OK
	}
	return CodeOf(err)
}
