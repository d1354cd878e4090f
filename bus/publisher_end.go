package bus

import (
	"context"
	"errors"
	"fmt"
)

// Close ends the publisher at once: it leaves the directory and closes every
// connection. Messages not yet sent are lost to their subscribers; use Drain
// first to end in order. The second call does nothing.
//
//   - Errors: the directory's, when the entry could not be removed.
//   - Blocks: until the last callback has run; from inside a callback, of any node,
//     it returns at once.
func (p *Publisher) Close() error { return p.closer.close(p.backend, p.close) }

func (p *Publisher) close() error {
	p.setState(publisherClosed)
	p.waiting.wake()
	errs := []error{p.withdraw()}
	if p.flushTimer != nil {
		errs = append(errs, p.flushTimer.Close())
	}
	if p.tellTimer != nil {
		errs = append(errs, p.tellTimer.Close())
	}
	p.hello.close()
	p.asking.close()
	p.heart.close()
	if p.backend != nil {
		if p.loop.OnLoop() || !p.loop.Post(p.abortJobs) {
			p.abortJobs() // on the loop, or there is none any more
		}
		errs = append(errs, p.backend.Close())
	}
	errs = append(errs, p.leave())
	return errors.Join(errs...)
}

// withdraw leaves the directory, in which a sender is not.
func (p *Publisher) withdraw() error {
	if p.registered == nil {
		return nil
	}
	return p.registered.Withdraw()
}

// leave counts down the connections and the publisher itself; the last one
// frees the pool. Closed from inside a callback, that is a connection.
func (p *Publisher) leave() error {
	if p.users.Add(-1) > 0 {
		return nil
	}
	p.loans.settle()
	if p.cache != nil {
		p.cache.close()
	}
	if err := p.pool.Close(); err != nil {
		return fmt.Errorf("bus: close publisher: %w", err)
	}
	return nil
}

// setState moves the publisher towards its end and keeps Publish out: after it
// returns no message is accepted any more. It returns false if the publisher
// was there already.
func (p *Publisher) setState(state publisherState) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.state >= state {
		return false
	}
	p.state = state
	for _, s := range *p.streams.Load() {
		s.mu.Lock()
		s.closed = true
		s.seal()
		if s.solo != nil {
			s.solo.tell()
		}
		s.mu.Unlock()
	}
	p.notifyChanged()
	return true
}

// Drain ends the publisher in order: it accepts no more messages, leaves the
// directory, sends what was published, and tells every subscriber the final
// positions. It returns when all of them have received that and left; Close
// then has nothing to lose.
//
//   - Errors: ErrClosed if the publisher is draining or closed, or is closed
//     meanwhile, or its loop has ended; ErrOnLoop; the directory's; ErrUndelivered if connections
//     ended before everything was sent; the cause of the end of ctx, when some
//     subscribers had not left.
//   - Threads: any.
func (p *Publisher) Drain(ctx context.Context) error {
	if p.loop.OnAnyLoop() {
		return ErrOnLoop
	}
	if !p.setState(publisherDraining) {
		return ErrClosed
	}
	p.waiting.wake()
	err := p.withdraw()
	p.mu.Lock()
	p.noteDrained()
	ended := false
	for l := range p.links {
		ended = !p.loop.Post(l.sayGoodbye) || ended
	}
	p.mu.Unlock()
	if ended { // nothing would end the wait
		return errors.Join(err, ErrClosed)
	}
	select {
	case <-p.drained:
		return errors.Join(err, p.drainResult())
	case <-ctx.Done():
		p.mu.Lock()
		left := len(p.links)
		p.mu.Unlock()
		return errors.Join(err, fmt.Errorf("bus: drain: subscribers that have not received everything: %d: %w", left, context.Cause(ctx)))
	}
}

// drainResult says how draining ended that no subscriber is waited for any
// more.
func (p *Publisher) drainResult() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.cutOff > 0:
		return fmt.Errorf("bus: drain: %w: connections that ended before: %d", ErrUndelivered, p.cutOff)
	case p.state == publisherClosed:
		return ErrClosed
	}
	return nil
}

// noteDrained ends the wait of Drain when no subscriber is left. mu is held.
func (p *Publisher) noteDrained() {
	if p.state >= publisherDraining && len(p.links) == 0 {
		p.drainOnce.Do(func() { close(p.drained) })
	}
}
