// SPDX-License-Identifier: Apache-2.0

//go:build libfabric && cgo

package rdma

import (
	"sync"

	"tagbus/netio/rdma/internal/fi"
	"tagbus/netio/reactor"
)

// eventSource is an event queue on the loop. Only in a step.
type eventSource struct {
	backend      *backend
	eq           *fi.EQ // nil: closed
	handle       func(*fi.Event)
	registration *reactor.Registration
	reading      sync.Mutex
	queued       bool // in the worklist
}

// Work implements handover.Worker. It is called once to begin, and when there may
// be events. handle makes no callbacks, as one that panics would lose the rest.
func (s *eventSource) Work() {
	s.queued = false
	if s.eq == nil {
		return
	}
	if s.registration == nil {
		var err error
		if s.registration, err = s.backend.EventLoop.Register(s.eq.FD(), reactor.Readable, s); err != nil {
			s.backend.warn("cannot watch an event queue: nothing connects there", "err", err)
		}
	}
	events := s.read()
	for i := range events {
		s.handle(&events[i])
	}
	if len(events) > 0 || !s.eq.TryWait() {
		s.enqueue()
	}
}

// read returns the next events, as eq.Read does.
func (s *eventSource) read() []fi.Event {
	s.reading.Lock()
	defer s.reading.Unlock()
	return s.eq.Read()
}

func (s *eventSource) enqueue() {
	if !s.queued {
		s.queued = true
		s.backend.Enqueue(s)
	}
}

// OnEvent implements reactor.Source.
func (s *eventSource) OnEvent(reactor.Events) {
	s.backend.Turn.Lock()
	defer s.backend.Turn.Unlock()
	s.enqueue()
}

func (s *eventSource) close() error {
	if s.eq == nil {
		return nil
	}
	if s.registration != nil {
		_ = s.registration.Close() // fails only if the descriptor is not ours
	}
	err := s.eq.Close()
	s.eq, s.registration = nil, nil
	return err
}
