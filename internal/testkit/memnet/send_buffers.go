// SPDX-License-Identifier: Apache-2.0

package memnet

import "tagbus/netio"

// sendBuffers are the send buffers of one endpoint, or those that all endpoints
// of a backend share, with the refusals that are to be answered when one comes
// back. That can happen on any goroutine; the answer is a task of the loop.
type sendBuffers struct {
	b      *backend
	pool   *netio.Pool
	shared bool

	// guarded by the network's mutex:
	refused  []*endpoint // one entry for each ErrNoResources, in order
	taskMark taskMark
}

func newSendBuffers(b *backend, shared bool, buffers, bufferBytes int) (*sendBuffers, error) {
	pool, err := netio.NewPool(buffers, bufferBytes)
	if err != nil {
		return nil, err
	}
	s := &sendBuffers{b: b, pool: pool, shared: shared}
	pool.OnFree(s.freed)
	return s, nil
}

// get takes a buffer for e. If there is none, an OnSendReady follows. It needs
// the network's mutex.
func (s *sendBuffers) get(e *endpoint) (*netio.Buffer, error) {
	if buf := s.pool.Get(); buf != nil {
		return buf, nil
	}
	s.refused = append(s.refused, e)
	if s.pool.AwaitFree() { // one has come back in between
		s.b.schedule(s)
	}
	return nil, netio.ErrNoResources
}

// freed is called when a buffer has come back, wherever that was: without the
// network's mutex, as those who hold it call Buffer.ReleaseSent without it.
func (s *sendBuffers) freed() {
	s.b.checkThread("Buffer.Release")
	s.b.net.mu.Lock()
	defer s.b.net.mu.Unlock()
	if !s.b.finished {
		s.b.schedule(s)
	}
}

func (s *sendBuffers) mark() *taskMark { return &s.taskMark }

// turn answers refusals as long as a buffer is free: the endpoint that has
// waited longest may take it before the next one hears of it.
func (s *sendBuffers) turn() {
	s.b.net.mu.Lock()
	defer s.b.net.mu.Unlock()
	for len(s.refused) > 0 {
		e := s.refused[0]
		over := e.stopped()
		if !over && !s.pool.AwaitFree() {
			return
		}
		s.refused = s.refused[1:]
		if !over {
			s.b.unlocked(func() { s.b.h.OnSendReady(e) })
		}
	}
}
