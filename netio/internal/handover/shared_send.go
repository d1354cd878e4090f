package handover

import (
	"slices"
	"sync/atomic"

	"tagbus/netio"
)

// sharedSend are the send buffers that all endpoints of a backend share, and
// the endpoints that wait for one, the first to ask first.
//
// Who has a buffer may take it again at its completion, before those who wait
// are told: many messages then need one turn. When that has happened maxPassed
// times in a row nobody gets a buffer before the first in line is told.
//
// Threads: the loop, but for the pool and take.
type sharedSend struct {
	backend *Backend
	pool    *netio.Pool
	waiting []*Endpoint
	invited int // endpoints that have not been told yet
	passed  int // how often those who wait found that a free buffer was taken again
	strict  atomic.Bool
}

// maxPassed keeps waiting short and turns few.
const maxPassed = 16

// shareSend has the endpoints share send buffers if cfg says so. Errors: the
// system's (no memory).
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

// SharedPool returns the send buffers that all endpoints share, nil if each has
// its own.
func (b *Backend) SharedPool() *netio.Pool {
	if b.shared == nil {
		return nil
	}
	return b.shared.pool
}

// retireShared gives up the buffers of shareSend, when the last is back.
func (b *Backend) retireShared() {
	if b.shared != nil {
		b.shared.pool.Retire()
	}
}

// take returns a buffer, or nil if none is free or it is the turn of others.
// Threads: any.
func (s *sharedSend) take() *netio.Buffer {
	if s.strict.Load() {
		return nil
	}
	return s.pool.Get()
}

// wait has e invited when it is its turn.
func (s *sharedSend) wait(e *Endpoint) {
	if !slices.Contains(s.waiting, e) {
		s.waiting = append(s.waiting, e)
		s.invite()
	}
}

// forget undoes wait.
func (s *sharedSend) forget(e *Endpoint) {
	if i := slices.Index(s.waiting, e); i >= 0 {
		s.waiting = slices.Delete(s.waiting, i, i+1)
	}
	s.welcome(e)
	if len(s.waiting) == 0 {
		s.strict.Store(false)
	}
}

// welcome ends an invitation, and tells whether there was one.
func (s *sharedSend) welcome(e *Endpoint) bool {
	if !e.invited {
		return false
	}
	e.invited = false
	s.invited--
	s.passed = 0
	s.strict.Store(false)
	return true
}

// Work implements Worker: a buffer has come back, which may be taken again.
func (s *sharedSend) Work() {
	if len(s.waiting) > 0 && s.pool.Free() == 0 {
		s.passed++
		s.strict.Store(s.passed >= maxPassed)
	}
	s.invite()
}

// invite invites as many of those who wait as buffers are free. Who does not
// take it leaves it to the next.
func (s *sharedSend) invite() {
	n := max(0, min(s.pool.Free()-s.invited, len(s.waiting)))
	s.invited += n
	for _, e := range s.waiting[:n] {
		e.invited = true
		e.Leave(ToOffer)
	}
	s.waiting = slices.Delete(s.waiting, 0, n)
	if len(s.waiting) > 0 && s.pool.AwaitFree() {
		s.backend.Enqueue(s) // behind the invited
	}
}
