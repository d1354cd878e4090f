// SPDX-License-Identifier: Apache-2.0

package bus

import (
	"context"
	"errors"
	"fmt"
	"time"

	"tagbus/bus/internal/ending"
)

// Close ends the publisher at once: it leaves the directory and closes every
// connection. Messages not yet sent are lost; use Drain first to end in order. The
// second call does nothing.
//
//   - Errors: the directory's, when the entry could not be removed.
//   - Blocks: for the directory's storage, some seconds at most, and until the last callback
//     has run. From inside a callback, of any node, it returns at once, without the errors of
//     the directory.
//
//go:noinline
func (handle *Publisher) Close() error {
	p := publisherOf(handle)
	return p.closer.Close(p.backend, p.close)
}

func (p *publisherImpl) close() (later bool, err error) {
	p.advance(ending.Closed)
	if p.desk != nil {
		p.desk.Observers.End()
	}
	p.door.Close()
	p.entry.Withdraw()
	errs := []error{p.fan.End(), p.alarms.Close()}
	if p.loop.OnLoop() || !p.loop.Post(p.turns.Abort) {
		p.turns.Abort() // on the loop, or there is none any more
	}
	errs = append(errs, p.backend.Close())
	if p.desk != nil && !p.loop.OnAnyLoop() {
		p.desk.Observers.Wait()
	}
	p.lookEnded()
	errs = append(errs, p.leave())
	if !p.loop.OnAnyLoop() { // else it goes on by itself: a storage that does not answer holds up no loop
		errs = append(errs, p.entry.Wait(context.Background()))
	}
	return false, errors.Join(errs...)
}

// leave counts down the connections and the publisher itself; the last one frees the
// pool. After a Close inside a callback the last one is a connection.
func (p *publisherImpl) leave() error {
	if p.users.Add(-1) > 0 {
		return nil
	}
	if err := p.fan.Free(); err != nil {
		return fmt.Errorf("bus: close publisher: %w", err)
	}
	return nil
}

// advance moves the publisher towards its end and keeps Publish out. After it returns
// no message is accepted any more. It returns false if the publisher is in that state
// already.
func (p *publisherImpl) advance(to ending.State) bool {
	p.fan.Mu.Lock()
	defer p.fan.Mu.Unlock()
	if !p.ending.Advance(to) {
		return false
	}
	p.fan.Stop()
	return true
}

// Drain ends the publisher in order. It accepts no more messages, leaves the directory,
// sends what is published, and sends every subscriber the final positions. It returns
// when all subscribers have received that and left. A directory that does not answer holds
// up no subscriber, and Drain for some seconds. A Close after it loses nothing. A
// subscriber whose connection is lost, before Drain or during it, has 5 seconds from
// the loss to come back for what it is owed; Drain waits for that.
//
//   - Errors: ErrClosed if the publisher is draining or closed, is closed meanwhile, or
//     its loop has ended; ErrOnLoop; those of the directory; ErrUndelivered if
//     connections ended early and their subscribers did not come back: the text has the
//     number of connections and of unconfirmed messages; the cause of the end of ctx,
//     if some subscribers had not left, or the directory had not answered.
//   - Threads: any.
func (handle *Publisher) Drain(ctx context.Context) error { return handle.DrainFailed(ctx, nil) }

// DrainFailed is Drain for a publisher that ends because something has failed, such as
// its input. The subscribers get what was accepted before, and then a Goodbye event whose
// Err is a *PeerFailedError with the reason.
//
//   - why: its text, as one line of at most 255 bytes, goes to every subscriber. nil: as
//     Drain.
//   - Errors: as Drain; why is not among them.
//   - Threads: any.
func (handle *Publisher) DrainFailed(ctx context.Context, why error) error {
	p := publisherOf(handle)
	if p.loop.OnAnyLoop() {
		return ErrOnLoop
	}
	if !p.advance(ending.Draining) {
		return ErrClosed
	}
	p.entry.Withdraw()
	if !p.loop.Post(func() {
		p.failure = why
		p.beginDrain()
	}) { // nothing would end the wait
		return errors.Join(ErrClosed, p.entry.Wait(ctx))
	}
	err := p.awaitReturn(ctx)
	return errors.Join(p.entry.Wait(ctx), err)
}

// lookEnded ends the wait of Drain if no subscriber is left or awaited. Loop only, unless the
// publisher is closed.
func (p *publisherImpl) lookEnded() {
	p.fan.Mu.Lock()
	defer p.fan.Mu.Unlock()
	p.ending.Look(len(p.links))
}

// returnTime is how long an ending publisher waits for a lost subscriber, from the loss
// on. It is the longest time between two tries of a subscriber, defaultReconnectMax.
const returnTime = 5 * time.Second

// beginDrain says goodbye to the connected subscribers, and begins to wait for those
// that may come back. Loop only.
func (p *publisherImpl) beginDrain() {
	p.desk.Observers.Dismiss()
	p.fan.Mu.Lock()
	p.ending.Begin()
	p.giveUp()
	p.ending.Look(len(p.links))
	links := make([]*link, 0, len(p.links))
	for l := range p.links {
		links = append(links, l)
	}
	p.fan.Mu.Unlock()
	for _, l := range links {
		p.farewell(l)
	}
}

// farewell says goodbye to a subscriber of an ending publisher, once, unless its
// subscriptions have yet to settle an account. It is called after the answer to each
// group of subscriptions: a refused group settles nothing, and nothing else follows it.
// Loop only.
func (p *publisherImpl) farewell(l *link) {
	p.fan.Mu.Lock()
	p.giveUp()
	early := !p.ending.Begun() || !l.asked && p.accounts.Owes(l.peer.Instance, l)
	p.fan.Mu.Unlock()
	if early || l.dismissed || l.state != linkReady {
		return
	}
	l.dismissed = true
	l.sayGoodbye()
}

// awaitReturn waits until all subscribers have left. Lost ones have to come back and
// leave, or are given up.
//
// Errors: as Drain.
func (p *publisherImpl) awaitReturn(ctx context.Context) error {
	end := p.ending.Wait(ctx, func() { p.loop.Post(p.lookEnded) }) // some may be given up
	p.fan.Mu.Lock()
	defer p.fan.Mu.Unlock()
	left, lost := len(p.links), p.unreturned()
	switch {
	case end == nil && lost == nil && p.ending.State() == ending.Closed:
		return ErrClosed
	case end == nil:
		return lost
	case left == 0 && lost == nil: // ctx has ended before the loop could see that none is there
		return nil
	case left == 0:
		return fmt.Errorf("%w: %w", lost, end)
	}
	return errors.Join(lost, fmt.Errorf("bus: drain: subscribers that have not received everything: %d: %w", left, end))
}

// unreturned returns an error if connections ended before or during the Drain and their
// subscribers have not come back. fan.Mu is held.
func (p *publisherImpl) unreturned() error {
	missing, unconfirmed := p.ending.Missing()
	if missing == 0 {
		return nil
	}
	return fmt.Errorf("bus: drain: %w: connections that ended before: %d, with %d messages unconfirmed", ErrUndelivered, missing, unconfirmed)
}

// mayReturn reports whether a subscriber that is lost may connect again to a publisher
// that ends, or is about to: a Sender knows that it ends a moment before.
func (p *publisherImpl) mayReturn(instance string) bool {
	p.fan.Mu.Lock()
	defer p.fan.Mu.Unlock()
	return p.ending.MayReturn(instance)
}

// giveUp stops waiting for peers that cannot come back to an ending publisher. Loop
// only, and fan.Mu is held.
func (p *publisherImpl) giveUp() {
	if p.ending.Begun() {
		p.ownership.giveUp()
	}
}
