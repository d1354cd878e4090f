// SPDX-License-Identifier: Apache-2.0

package handover

import (
	"slices"
	"sync/atomic"

	"tagbus/netio"
)

// sharedSend holds the send buffers that all endpoints of a backend share, and the
// endpoints that wait for one, in the order in which they asked.
//
// The user of a buffer may take it again at its completion, before the waiting
// endpoints are called: many messages then need one turn. After maxPassed such
// completions in a row no endpoint gets a buffer until the first in line was called.
//
// Threads: the loop, except the pool and take.
type sharedSend struct {
	backend *Backend
	pool    *netio.Pool
	waiting []*Endpoint
	invited int // endpoints that are scheduled to take a buffer
	passed  int // buffers that came back and were taken again, in a row, while endpoints wait
	strict  atomic.Bool
}

// maxPassed is a compromise between a short wait and few turns.
const maxPassed = 16

// shareSend makes the send buffers that the endpoints share, if cfg asks for that.
// Errors: the system's (no memory).
func (b *Backend) shareSend(cfg netio.SharedBuffers) error {
	if !cfg.Enabled() {
		return nil
	}
	pool, err := netio.NewPool(cfg.Buffers, cfg.BufferBytes)
	if err != nil {
		return err
	}
	s := &sharedSend{backend: b, pool: pool}
	pool.OnFree(func() { b.Enqueue(s) })
	b.shared = s
	return nil
}

// SharedPool returns the send buffers that all endpoints share; nil: each has its own.
func (b *Backend) SharedPool() *netio.Pool {
	if b.shared == nil {
		return nil
	}
	return b.shared.pool
}

// retireShared gives up the buffers of shareSend. Their memory is freed when the last
// is back.
func (b *Backend) retireShared() {
	if b.shared != nil {
		b.shared.pool.Retire()
	}
}

// take returns a buffer, or nil if none is free or other endpoints come first.
// Threads: any.
func (s *sharedSend) take() *netio.Buffer {
	if s.strict.Load() {
		return nil
	}
	return s.pool.Get()
}

// wait puts e in the line.
func (s *sharedSend) wait(e *Endpoint) {
	if !slices.Contains(s.waiting, e) {
		s.waiting = append(s.waiting, e)
		s.invite()
	}
}

// forget removes e from the line.
func (s *sharedSend) forget(e *Endpoint) {
	if i := slices.Index(s.waiting, e); i >= 0 {
		s.waiting = slices.Delete(s.waiting, i, i+1)
	}
	s.endInvitation(e)
	if len(s.waiting) == 0 {
		s.strict.Store(false)
	}
}

// endInvitation ends the invitation of e, and reports whether there was one.
func (s *sharedSend) endInvitation(e *Endpoint) bool {
	if !e.invited {
		return false
	}
	e.invited = false
	s.invited--
	s.passed = 0
	s.strict.Store(false)
	return true
}

// Work implements Worker. A buffer has come back, and may be taken again already.
func (s *sharedSend) Work() {
	if len(s.waiting) > 0 && s.pool.Free() == 0 {
		s.passed++
		s.strict.Store(s.passed >= maxPassed)
	}
	s.invite()
}

// invite schedules as many of the waiting endpoints as there are free buffers. A buffer
// that an invited endpoint does not take is for the next one.
func (s *sharedSend) invite() {
	n := max(0, min(s.pool.Free()-s.invited, len(s.waiting)))
	s.invited += n
	for _, e := range s.waiting[:n] {
		e.invited = true
		e.Schedule(ToAnswer)
	}
	s.waiting = slices.Delete(s.waiting, 0, n)
	if len(s.waiting) > 0 && s.pool.AwaitFree() {
		s.backend.Enqueue(s) // behind the invited
	}
}
