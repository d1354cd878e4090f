// SPDX-License-Identifier: Apache-2.0

// Package observe answers the observers of one publisher or receiver.
//
// An observer dials, says hello, and asks for the state of the instance, one question at a
// time. It gets no message and takes no subscriber's place. So whatever it does costs this
// side no more than the bounds below:
//
//   - Places: at most MaxObservers. Of the host with most of them the one that has asked nothing
//     for longest gives way.
//     A host is an IPv4 address, or 64 bits of an IPv6 address.
//   - Time: answers take at most a tenth of one processor. They are made one after another
//     on a goroutine of their own, never on the loop, and questions wait. Hosts take turns.
//   - Memory: an answer has at most MaxAnswerBytes. Of answers that are not sent, at most
//     MaxUnsentBytes are kept; then the one that waits for longest ends with its connection.
//   - Patience: an observer that asks nothing for MaxIdle, or takes nothing of its answer for
//     as long, is closed.
//
// What an answer says is not known here.
package observe

import (
	"context"
	"slices"
	"sync"
	"time"

	"tagbus/bus/state"
	"tagbus/internal/alarm"
	"tagbus/netio"
)

const (
	// MaxObservers is how many observers an instance has.
	MaxObservers = 64

	// MaxIdle is how long an observer may ask nothing, or take nothing of its answer.
	MaxIdle = 60 * time.Second

	// MaxAnswerBytes limits an answer. A larger one is refused.
	MaxAnswerBytes = 32 << 20

	// MaxUnsentBytes limits the answers that are not sent, together.
	MaxUnsentBytes = 64 << 20

	// Rest is how many times as long as an answer took the next one waits.
	Rest = 9

	// minRest is how long it waits at least, so that the loop gets few questions, too.
	minRest = time.Millisecond
)

// Config is what a Server needs to answer.
type Config struct {
	Post   func(func()) bool // of the loop
	Alarms *alarm.Clock      // of the loop

	// Describe returns the state of the instance, as the observer with a peer may see it. It
	// is called on a goroutine that may wait.
	Describe func(ctx context.Context, peer any, q state.Question) (state.State, error)

	// Broken is told what an observer has done that breaks the protocol, before its
	// connection is closed. Loop only.
	Broken func(o *Observer, err error)
}

// Server answers the observers of an instance.
//
// Threads: the loop, except End and Wait.
type Server struct {
	cfg    Config
	all    map[*Observer]struct{}
	turns  turns
	unsent int // bytes of answers

	waiting []*Observer // whose questions wait, in their order
	current *Observer   // whose answer is being made; nil: none, or it has gone
	cancel  func()      // of that answer
	making  bool        // an answer is being made
	rest    alarm.Alarm // before the next answer

	mu    sync.Mutex
	ended bool
	stop  context.CancelFunc // of all answers
	until context.Context
	made  chan struct{} // closed when the goroutine of the last answer has ended
}

// New returns a server without observers. End it.
func New(cfg Config) *Server {
	s := &Server{cfg: cfg, all: make(map[*Observer]struct{})}
	s.until, s.stop = context.WithCancel(context.Background())
	s.rest.F = s.next
	return s
}

// Observers returns how many there are.
func (s *Server) Observers() int { return len(s.all) }

// Enter makes a connection an observer, which becomes its context.
//
//   - hello: of this side, which is sent.
//   - peer: what the user keeps with it.
func (s *Server) Enter(ep netio.Endpoint, hello []byte, peer any) *Observer {
	o := newObserver(s, ep, peer)
	ep.SetContext(o)
	s.all[o] = struct{}{}
	if s.turns.ask(o); len(s.all) > MaxObservers {
		s.turns.way().end()
	}
	o.rests()
	o.out.Push(hello)
	o.pump()
	return o
}

// Dismiss closes all observers.
func (s *Server) Dismiss() {
	for o := range s.all {
		o.end()
	}
}

// End makes no answer from now on, and cancels the one that is being made. Threads: any.
func (s *Server) End() {
	s.mu.Lock()
	s.ended = true
	s.mu.Unlock()
	s.stop()
}

// Wait returns when no goroutine is left, after End. Threads: any but a loop's.
func (s *Server) Wait() {
	s.mu.Lock()
	made := s.made
	s.mu.Unlock()
	if made != nil {
		<-made
	}
}

// ask queues the question of an observer.
func (s *Server) ask(o *Observer) {
	s.turns.ask(o)
	s.waiting = append(s.waiting, o)
	s.next()
}

// forget takes an observer out whose connection has ended, or is about to.
func (s *Server) forget(o *Observer) {
	if _, known := s.all[o]; !known {
		return
	}
	delete(s.all, o)
	s.turns.leave(o)
	s.cfg.Alarms.Cancel(&o.patience)
	s.unsent -= o.kept
	o.kept, o.rest = 0, nil
	if i := slices.Index(s.waiting, o); i >= 0 {
		s.waiting = slices.Delete(s.waiting, i, i+1)
	}
	if s.current == o {
		s.current = nil
		s.cancel() // what it has taken so far counts
	}
}

// next begins to answer a question.
func (s *Server) next() {
	if len(s.waiting) == 0 || s.making || s.rest.IsSet() {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended {
		return
	}
	o := s.turns.take(&s.waiting)
	ctx, cancel := context.WithCancel(s.until)
	s.current, s.cancel, s.making, s.made = o, cancel, true, make(chan struct{})
	question, peer, made := o.question, o.peer, s.made
	go func() {
		defer close(made)
		defer cancel()
		begun := time.Now()
		a := s.cfg.answer(ctx, peer, question)
		took := time.Since(begun)
		s.cfg.Post(func() { s.answered(a, took) })
	}()
}

// answered sends an answer, unless its observer has gone, and rests.
func (s *Server) answered(a answer, took time.Duration) {
	o := s.current
	s.current, s.making = nil, false
	s.cfg.Alarms.Set(&s.rest, max(Rest*took, minRest))
	if o != nil {
		o.take(a)
	}
	s.bound()
}

// bound closes observers until the answers that are not sent take no more than they may.
func (s *Server) bound() {
	for s.unsent > MaxUnsentBytes {
		var oldest *Observer
		for o := range s.all {
			if o.kept > 0 && (oldest == nil || o.since.Before(oldest.since)) {
				oldest = o
			}
		}
		oldest.end()
	}
}
