package tcp

import (
	"slices"

	"tagbus/netio"
)

// sharedSend are the send buffers that all endpoints of a backend share, and
// the endpoints that wait for one, the first to ask first.
//
// Threads: the loop, but for the pool.
type sharedSend struct {
	backend *backend
	pool    *netio.Pool
	waiting []*endpoint
}

// newSharedSend returns nil if nothing is to be shared. Errors: the system's
// (no memory).
func newSharedSend(b *backend, cfg netio.SharedBuffers) (*sharedSend, error) {
	if !cfg.Enabled() {
		return nil, nil
	}
	pool, err := netio.NewPool(cfg.Buffers, cfg.BufferBytes)
	if err != nil {
		return nil, err
	}
	s := &sharedSend{backend: b, pool: pool}
	pool.OnFree(func() { b.enqueue(s) })
	return s, nil
}

// wait has e invited when it is its turn.
func (s *sharedSend) wait(e *endpoint) {
	if !slices.Contains(s.waiting, e) {
		s.waiting = append(s.waiting, e)
		s.work()
	}
}

// forget undoes wait.
func (s *sharedSend) forget(e *endpoint) {
	if i := slices.Index(s.waiting, e); i >= 0 {
		s.waiting = slices.Delete(s.waiting, i, i+1)
	}
}

// work implements worker: it invites as many of those who wait as buffers are
// free. Who does not take it leaves it to the next.
func (s *sharedSend) work() {
	n := min(s.pool.Free(), len(s.waiting))
	for _, e := range s.waiting[:n] {
		e.invited = true
		e.leave(toOffer)
	}
	s.waiting = slices.Delete(s.waiting, 0, n)
	if len(s.waiting) > 0 && s.pool.AwaitFree() {
		s.backend.enqueue(s) // behind the invited
	}
}
