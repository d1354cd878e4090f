// SPDX-License-Identifier: Apache-2.0

package observer

import (
	"container/list"
	"errors"
	"fmt"
	"io"
	"slices"

	"tagbus/bus"
	"tagbus/bus/directory"
	"tagbus/bus/internal/dialer"
	"tagbus/bus/internal/sendqueue"
	"tagbus/bus/internal/ways"
	"tagbus/netio"
	"tagbus/subscription"
)

// peer is an instance that is asked, or was asked last on a connection that is kept.
//
// Everything here runs on the loop.
type peer struct {
	dialer.Contact
	o     *Observer
	entry directory.Entry
	ep    netio.Endpoint // nil without a connection
	out   sendqueue.Queue
	fault error // why this side closes the connection, or has closed it

	questions []*question // the first one may be asked
	asking    bool        // it is
	parts     [][]byte    // of its answer
	bytes     int         // of those
	answered  bool        // there was an answer on this connection

	placed bool          // counted in Observer.placed
	idle   *list.Element // of Observer.idle; nil: in use
}

// ask asks an instance, or queues the question.
func (o *Observer) ask(q *question) {
	if o.closer.Begun() {
		return
	}
	p := o.peers[q.entry.Instance]
	if p == nil {
		p = &peer{o: o}
		o.dialer.Prepare(&p.Contact, p)
		o.peers[q.entry.Instance] = p
	}
	p.entry, p.Addresses = q.entry, o.ours.Sole(q.entry)
	p.questions = append(p.questions, q)
	p.work()
}

// giveUp forgets a question. If it was asked, its connection ends: what is still to come on
// it would be the answer.
func (o *Observer) giveUp(q *question) {
	p := o.peers[q.entry.Instance]
	if p == nil {
		return
	}
	i := slices.Index(p.questions, q)
	if i < 0 {
		return
	}
	p.questions = slices.Delete(p.questions, i, i+1)
	if i == 0 && p.asking {
		p.asking = false
		p.fail(ErrTimeout)
	}
}

// work asks the first question, or begins to dial for it.
func (p *peer) work() {
	switch {
	case len(p.questions) == 0 || p.asking:
	case p.ep != nil && p.Ready() && p.fault == nil:
		p.use()
		q := p.questions[0]
		q.stage.Store(stageAsked)
		p.asking, p.parts, p.bytes = true, nil, 0
		p.send(q.data)
	case p.ep == nil && p.Idle() && !p.placed && p.o.place(p):
		p.stage(stageDialing)
		p.Dial()
	}
}

// stage notes how far the questions are.
func (p *peer) stage(stage int32) {
	for _, q := range p.questions {
		q.stage.Store(stage)
	}
}

// Open implements dialer.User.
func (p *peer) Open(to dialer.Target) error {
	if owner := p.o.taken[to]; owner != nil {
		p.o.block(p, to, owner)
		return errTaken
	}
	err := p.o.ours.Open(to, params(p, p.o.cfg.Timeout))
	if err == nil {
		p.o.taken[to] = p
	}
	return err
}

// Wanted implements dialer.User.
func (p *peer) Wanted() bool { return len(p.questions) > 0 }

// Woken implements dialer.User.
func (p *peer) Woken() { p.work() }

// HelloMissed implements dialer.User.
func (p *peer) HelloMissed() { p.fail(fmt.Errorf("%w: it has not said hello", ErrTimeout)) }

// Tried implements dialer.User: the questions cannot be asked.
func (p *peer) Tried(err error) {
	p.Rest() // no try follows by itself
	p.o.unplace(p)
	if errors.Is(err, errTaken) {
		if p.o.isBlocked(p) {
			return // until the address is free
		}
		p.work()
		return
	}
	err = p.explain(err)
	for _, q := range p.questions {
		q.result <- answer{err: err}
	}
	p.questions = nil
	p.o.forget(p)
}

// established says hello.
func (p *peer) established(ep netio.Endpoint) {
	if !p.Established(ways.TargetOf(ep)) { // another address was faster
		_ = ep.Close()
		return
	}
	p.ep, p.fault, p.answered = ep, nil, false
	p.out = sendqueue.New(ep.PauseReceive, ep.ResumeReceive)
	p.stage(stageGreeting)
	p.send(p.o.hello)
}

// lost cleans up after the connection.
func (p *peer) lost(cause error) {
	cause = p.cause(cause)
	p.use()
	p.ep = nil
	p.out.Drop()
	if !p.Closed() {
		if p.fault == nil {
			cause = fmt.Errorf("%w: %w", ErrLost, cause)
		}
		p.Refused(cause) // the next address
		return
	}
	p.Rest()
	p.o.unplace(p)
	if p.asking {
		p.asking = false
		q := p.questions[0]
		if q.tries++; !p.answered || q.tries > 1 || len(p.parts) > 0 || p.fault != nil {
			p.questions = p.questions[1:]
			q.result <- answer{err: fmt.Errorf("%w: %w", ErrLost, cause)}
		} // else the connection was kept, and had ended already
	}
	p.parts = nil
	p.work()
	p.o.forget(p)
}

// cause returns why a connection has ended.
func (p *peer) cause(cause error) error {
	switch {
	case p.fault != nil:
		return p.fault
	case cause == nil:
		return io.EOF
	}
	return cause
}

// fail closes the connection.
func (p *peer) fail(err error) {
	if p.ep != nil && p.fault == nil {
		p.fault = err
		_ = p.ep.Close()
	}
}

// onData takes a message.
func (p *peer) onData(data []byte) {
	if !p.Ready() {
		h, err := helloFrom(data)
		if err == nil && h.Instance != p.entry.Instance {
			err = bus.ErrStaleEntry
		}
		if err != nil {
			p.fail(err)
			return
		}
		p.Greeted()
		p.rest()
		p.work()
		return
	}
	m, err := subscription.Decode(data)
	if err == nil {
		err = p.take(m)
	}
	if err != nil {
		p.fail(fmt.Errorf("%w: %w", bus.ErrProtocol, err))
	}
}

// take takes a message of one that is observed.
func (p *peer) take(m subscription.Message) error {
	switch m := m.(type) {
	case *subscription.Beat:
		return nil
	case *subscription.Description:
		if !p.asking || m.ID != p.questions[0].id {
			return fmt.Errorf("an answer to question %d, which is not asked", m.ID)
		}
		if p.bytes += len(m.Part) + partBytes; p.bytes > MaxAnswerBytes {
			return fmt.Errorf("an answer of more than %d bytes", MaxAnswerBytes)
		}
		if p.parts = append(p.parts, m.Part); !m.More {
			p.done(answer{parts: p.parts})
		}
		return nil
	case *subscription.Refused:
		if !p.asking || m.ID != p.questions[0].id {
			return fmt.Errorf("refusal of question %d, which is not asked: %s", m.ID, reasonOf(m))
		}
		p.done(answer{err: fmt.Errorf("%w: %s", ErrRefused, reasonOf(m))})
		return nil
	}
	return fmt.Errorf("an observer is not sent %v", m.Kind())
}

// done ends the question that is asked, and asks the next one.
func (p *peer) done(a answer) {
	q := p.questions[0]
	p.questions = p.questions[1:]
	p.asking, p.answered, p.parts = false, true, nil
	q.result <- a
	p.rest()
	p.work()
}

// send sends a message.
func (p *peer) send(data []byte) {
	p.out.Push(data)
	p.pump()
}

// pump gives the endpoint what waits.
func (p *peer) pump() {
	if p.ep == nil {
		return
	}
	if err := p.out.Pump(p.ep); err != nil && !errors.Is(err, netio.ErrNoResources) && !errors.Is(err, netio.ErrClosed) {
		p.fail(err)
	}
}
