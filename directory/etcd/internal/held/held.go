// SPDX-License-Identifier: Apache-2.0

// Package held counts the bytes of answers that a member has made and their callers have not taken,
// and chooses the connection that gives way.
//
// gRPC keeps an answer whole until its last byte is on its way, so that callers that ask and do not read
// take all memory. Whatever makes a long answer takes room for it first (Answers.Take), which is given back
// when the answer is written (Codec), or when the connection ends. Where there is no room a request waits:
// that of the caller that holds least comes first, and of the callers that hold most a connection that
// has not taken an answer for long is cut off. So a caller that reads gets its answers beside
// those that do not.
//
// So it is with requests that are not answered yet, of which gRPC keeps what has come (package door).
package held

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"
	"time"
)

// The bounds.
const (
	InAll     = 192 << 20 // bytes
	ForCaller = 64 << 20  // bytes

	maxWaiting = 1 << 10                // requests of one caller
	untaken    = 30 * time.Second       // how long a connection may leave an answer
	hurried    = time.Second            // the same, while others wait for room
	lookEvery  = 250 * time.Millisecond // at how long they have left them
)

// Bounds are how much is held at most, bytes.
type Bounds struct{ InAll, ForCaller int }

// most returns the bounds.
func (a *Answers) most() Bounds {
	if a.Bounds == (Bounds{}) {
		return Bounds{InAll, ForCaller}
	}
	return a.Bounds
}

// ErrTooMany is the error for a caller with too many requests that wait for room.
var ErrTooMany = errors.New("held: too many requests wait")

// Conn is a connection, and whose it is.
type Conn struct {
	Caller any             // equal for all connections of one caller, as far as callers are told apart
	Ended  <-chan struct{} // closed when the connection ends
	Cut    func()          // ends it at once
}

// Answers counts what a member holds. The zero value holds nothing.
//
// Threads: any.
type Answers struct {
	Bounds Bounds // the zero value: InAll and ForCaller

	mutex   sync.Mutex
	held    int
	callers map[any]*caller
	looking bool // a look is to come
	asked   int  // requests so far
}

// caller is what one caller holds.
type caller struct {
	held    int
	conns   map[*Conn]*conn
	waiting []*wait // the oldest first
}

// conn is what one connection holds.
type conn struct {
	*Conn
	of      *caller
	held    int
	answers map[*Answer]struct{}
}

// wait is a request that waits for room.
type wait struct {
	answer *Answer
	ready  chan struct{} // closed: it has its room
	number int           // of those that asked
}

// Answer is one that is made, or on its way.
type Answer struct {
	all   *Answers
	conn  *conn
	bytes int
	since time.Time // when it got its room, or was made
}

// HasRoom reports whether a request has room without waiting.
func (a *Answers) HasRoom(c *Conn, bytes int) bool {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	of := a.callers[c.Caller]
	return of == nil && a.held+bytes <= a.most().InAll || of != nil && len(of.waiting) == 0 && a.fits(of, bytes)
}

// Take returns an answer of at most so many bytes, once there is room for it. Release it.
//
//   - bytes: at most those for a caller; of more, so many are counted.
//   - Errors: ErrTooMany; those of ctx.
func (a *Answers) Take(ctx context.Context, c *Conn, bytes int) (*Answer, error) {
	a.mutex.Lock()
	at := a.connOf(c)
	if len(at.of.waiting) >= maxWaiting {
		a.mutex.Unlock()
		return nil, ErrTooMany
	}
	a.asked++
	w := &wait{&Answer{all: a, conn: at, bytes: min(bytes, a.most().ForCaller)}, make(chan struct{}), a.asked}
	at.of.waiting = append(at.of.waiting, w)
	a.serve()
	a.look()
	a.mutex.Unlock()
	select {
	case <-w.ready:
		return w.answer, nil
	case <-ctx.Done():
	}
	a.mutex.Lock()
	defer a.mutex.Unlock()
	if i := slices.Index(at.of.waiting, w); i >= 0 {
		at.of.waiting = slices.Delete(at.of.waiting, i, i+1)
	}
	w.answer.drop() // it got its room meanwhile
	a.serve()       // those behind it may need less
	return nil, context.Cause(ctx)
}

// connOf returns a connection, which is forgotten when it ends. mutex is held.
func (a *Answers) connOf(c *Conn) *conn {
	if a.callers == nil {
		a.callers = make(map[any]*caller)
	}
	of := a.callers[c.Caller]
	if of == nil {
		of = &caller{conns: make(map[*Conn]*conn)}
		a.callers[c.Caller] = of
	}
	at := of.conns[c]
	if at == nil {
		at = &conn{Conn: c, of: of, answers: make(map[*Answer]struct{})}
		of.conns[c] = at
		go func() {
			<-c.Ended
			a.forget(at)
		}()
	}
	return at
}

// forget forgets a connection that has ended, and what it held: gRPC has forgotten that, too. Its requests
// that wait fail by their contexts.
func (a *Answers) forget(at *conn) {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	at.empty()
	at.of.waiting = slices.DeleteFunc(at.of.waiting, func(w *wait) bool { return w.answer.conn == at })
	delete(at.of.conns, at.Conn)
	if len(at.of.conns) == 0 {
		delete(a.callers, at.Caller)
	}
	a.serve()
}

// empty drops all answers of a connection. mutex is held.
func (c *conn) empty() {
	for h := range c.answers {
		h.drop()
	}
}

// fits reports whether a caller may hold more. mutex is held.
func (a *Answers) fits(of *caller, bytes int) bool {
	return of.held+bytes <= a.most().ForCaller && a.held+bytes <= a.most().InAll
}

// next returns which request of a caller gets room next: the oldest one of those whose connections
// hold least. There is one. mutex is held.
func (c *caller) next() *wait {
	return slices.MinFunc(c.waiting, func(a, b *wait) int { return cmp.Compare(a.answer.conn.held, b.answer.conn.held) })
}

// serve gives room to the requests that wait, as far as there is some, and returns which callers have one
// that goes on waiting: the one that holds least first. mutex is held.
func (a *Answers) serve() (waiting []*caller) {
	for _, of := range a.callers {
		if len(of.waiting) > 0 {
			waiting = append(waiting, of)
		}
	}
	less := func(a, b *caller) int {
		return cmp.Or(cmp.Compare(a.held, b.held), cmp.Compare(a.waiting[0].number, b.waiting[0].number))
	}
	slices.SortStableFunc(waiting, less)
	for i := 0; i < len(waiting); {
		of := waiting[i]
		w := of.next()
		if !a.fits(of, w.answer.bytes) {
			if of.held+w.answer.bytes <= a.most().ForCaller {
				return waiting // the others would keep it from its turn
			}
			i++
			continue
		}
		at := slices.Index(of.waiting, w)
		of.waiting = slices.Delete(of.waiting, at, at+1)
		w.answer.enter()
		close(w.ready)
		if len(of.waiting) == 0 {
			waiting = slices.Delete(waiting, i, i+1)
		}
		slices.SortStableFunc(waiting[i:], less)
	}
	return waiting
}

// enter counts an answer. mutex is held.
func (h *Answer) enter() {
	h.since = time.Now()
	h.conn.answers[h] = struct{}{}
	h.count(h.bytes)
}

// count counts bytes, which may be fewer than none. mutex is held.
func (h *Answer) count(bytes int) {
	h.conn.held += bytes
	h.conn.of.held += bytes
	h.all.held += bytes
}

// drop counts an answer no longer. Idempotent. mutex is held.
func (h *Answer) drop() {
	if _, in := h.conn.answers[h]; in {
		delete(h.conn.answers, h)
		h.count(-h.bytes)
	}
}

// Bytes returns how many bytes are counted.
func (h *Answer) Bytes() int {
	h.all.mutex.Lock()
	defer h.all.mutex.Unlock()
	return h.bytes
}

// Shrink says that the answer is made, and counts fewer bytes, now that it is known how many there are.
func (h *Answer) Shrink(bytes int) {
	h.all.mutex.Lock()
	defer h.all.mutex.Unlock()
	h.since = time.Now()
	if _, in := h.conn.answers[h]; in && bytes < h.bytes {
		h.count(bytes - h.bytes)
		h.bytes = bytes
		h.all.serve()
	}
}

// Release says that the answer is held no longer. Idempotent.
func (h *Answer) Release() {
	h.all.mutex.Lock()
	defer h.all.mutex.Unlock()
	h.drop()
	h.all.serve()
}
