// SPDX-License-Identifier: Apache-2.0

package bus_test

import (
	"context"
	"errors"
	"strconv"
	"testing/synctest"
	"time"

	"tagbus/bus"
	"tagbus/tags"
)

// sentMessage is a message that was given to a sender, and what is known of it.
type sentMessage struct {
	sender   *modelSender
	tag      tags.Tag
	acked    bool // by SendAcked
	returned bool // from there, or Send
	accepted bool
	err      error  // of SendAcked
	lost     bool   // SendAcked says that no receiver ever gets it
	position uint64 // as SendAcked or the handler say
	got      int    // how many times
	handled  bool   // the handler has returned
}

// note makes the next message. Its id is its index in sent.
func (r *senderRun) note(s *modelSender, tag tags.Tag, acked bool) (m *sentMessage, id int, data []byte) {
	r.mu.Lock()
	defer r.mu.Unlock()
	m, id = &sentMessage{sender: s, tag: tag, acked: acked}, len(r.sent)
	r.sent = append(r.sent, m)
	if acked {
		s.waiting++
		s.waitsFor = tag
	}
	return m, id, payload(tag, uint64(id))
}

// spoils reports whether the handler panics at a message.
func spoils(id int) bool { return id%29 == 7 }

func (r *senderRun) send(s *modelSender, tag tags.Tag, n int) {
	r.settle()
	owned, place := s.owners[tag] != "", senderModelPlace(tag)
	for range n {
		m, _, data := r.note(s, tag, false)
		err := s.Send(tag, data)
		r.mu.Lock()
		if m.returned = true; err == nil {
			m.accepted = true
			s.plain[tag]++
		}
		r.mu.Unlock()
		switch {
		case err == nil:
		case errors.Is(err, bus.ErrNoReceiver):
			if owned {
				r.failf("send tag %v: %v, though there is one", tag, err)
			}
		case !errors.Is(err, bus.ErrNoResources):
			r.failf("send tag %v: %v", tag, err)
		case place >= len(r.places) || !r.places[place].policy.Lossless():
			r.failf("send tag %v: %v, though no receiver blocks it", tag, err)
		default:
			synctest.Wait()
		}
	}
}

// sendAcked begins to send a message that is to be acknowledged. All that wait
// at a sender have the same tag, so that it is known what was accepted.
func (r *senderRun) sendAcked(s *modelSender, tag tags.Tag, patience time.Duration) *sentMessage {
	r.settle()
	if s.waiting > 0 {
		tag = s.waitsFor
	}
	m, id, data := r.note(s, tag, true)
	go func() {
		ctx, cancel := context.WithTimeout(r.t.Context(), patience)
		defer cancel()
		begun := time.Now()
		err := s.SendAcked(ctx, tag, data)
		if took := time.Since(begun); took > patience {
			r.failf("SendAcked returned after %v, %v were allowed", took, patience)
		}
		for _, problem := range r.returned(m, id, err) {
			r.failf("sender %s, tag %v, message %d: %s", s.Instance(), tag, id, problem)
		}
	}()
	return m
}

// returned notes what SendAcked says.
func (r *senderRun) returned(m *sentMessage, id int, err error) (problems []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	m.sender.waiting--
	m.returned, m.err = true, err
	var ack *bus.AckError
	switch {
	case err == nil:
		m.accepted = true
		if !m.handled {
			problems = append(problems, "acknowledged, and was not handled")
		}
	case errors.As(err, &ack):
		m.accepted, m.lost = true, ack.Lost
		if m.position != 0 && m.position != ack.Counter || ack.Counter == 0 {
			problems = append(problems, err.Error()+": its counter is "+strconv.FormatUint(m.position, 10))
		}
		m.position = ack.Counter
		if errors.Is(err, bus.ErrNotHandled) && !spoils(id) {
			problems = append(problems, err.Error()+": the handler never refused it")
		}
	case !errors.Is(err, bus.ErrNoReceiver) && !errors.Is(err, bus.ErrClosed) && !errors.Is(err, context.DeadlineExceeded):
		problems = append(problems, err.Error())
	}
	if m.accepted {
		m.sender.acked[m.tag]++
	}
	return problems
}
