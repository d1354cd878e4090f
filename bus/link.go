package bus

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"tagbus/netio"
	"tagbus/subscription"
)

// link is the publisher's side of the connection to one subscriber.
//
// Pages come from any goroutine that publishes, completions from the loop;
// both hold mu for a few operations on queues only. The endpoint's methods are
// called under mu, which is allowed because a backend never calls back from
// inside them.
type link struct {
	pub *Publisher
	ep  netio.Endpoint
	id  subscription.Subscriber

	// pinned counts the pages reserved for or queued to this subscriber. It is
	// what bounds how far a slow subscriber can be behind.
	pinned atomic.Int64

	mu            sync.Mutex
	queue         ring[item] // to be sent, in order
	held          ring[item] // pages that must stay behind an acknowledgement
	corked        bool
	inFlight      ring[item] // given to the endpoint, in order
	inFlightBytes int
	controlBytes  int // in queue and held
	dead          bool

	sentPages, sentMessages, sentBytes uint64

	// Loop only.
	state     linkState
	peer      *Peer
	fault     error // why this side has closed, or will
	helloTick int   // tick of the hello timer at which patience ends
	partID    uint64
	part      []byte // parts of a subscription's set received so far
}

type linkState int

const (
	linkHello   linkState = iota // the peer has not said hello
	linkReady                    // the peer may subscribe
	linkLeaving                  // a last message is on its way
)

// item is one transport message to a subscriber: a page or a control message.
type item struct {
	page    *page
	control []byte
	last    bool // close the connection when it is sent
}

func (i *item) bytes() int {
	if i.page != nil {
		return i.page.bytes
	}
	return len(i.control)
}

// hasRoom tells whether n more pages may be reserved. A subscriber that holds
// nothing gets any number, so that the largest message always fits.
func (l *link) hasRoom(n int64) bool {
	now := l.pinned.Load()
	return now == 0 || now+n <= l.pub.queuePages
}

// enqueue queues a page whose room is reserved and of which the caller hands
// over one reference.
func (l *link) enqueue(p *page) {
	l.mu.Lock()
	if l.dead {
		l.mu.Unlock()
		l.pub.undelivered.Add(uint64(p.messages))
		l.drop(p)
		return
	}
	if l.corked {
		l.held.push(item{page: p})
	} else {
		l.queue.push(item{page: p})
		l.pump()
	}
	l.mu.Unlock()
}

// drop gives up a page that this subscriber does not get any more.
func (l *link) drop(p *page) {
	l.pinned.Add(-int64(p.size()))
	l.pub.release(p)
}

// cork holds back the pages that come from now on, until uncork: an
// acknowledgement that is being put together must come before them.
func (l *link) cork() {
	l.mu.Lock()
	l.corked = true
	l.mu.Unlock()
}

func (l *link) uncork() {
	l.mu.Lock()
	l.corked = false
	for l.held.len() > 0 {
		l.queue.push(l.held.pop())
	}
	if !l.dead {
		l.pump()
	}
	l.mu.Unlock()
}

// pump gives the endpoint as much as keeps it busy. mu is held. What stays in
// the queue can still be reordered or dropped by policy; what is in flight
// cannot.
func (l *link) pump() {
	for l.queue.len() > 0 && l.inFlight.len() < maxInFlight && l.inFlightBytes < l.pub.window {
		i := l.queue.front()
		if err := l.post(i); err != nil {
			if !errors.Is(err, netio.ErrNoResources) && !errors.Is(err, netio.ErrClosed) {
				l.pub.loop.Post(func() { l.fail(err) })
			}
			return // OnSendReady or OnConnectionClosed goes on
		}
		l.inFlightBytes += i.bytes()
		l.inFlight.push(l.queue.pop())
	}
}

func (l *link) post(i *item) error {
	if i.page != nil {
		return l.ep.Send(i.page.key, nil, i.page.vector...)
	}
	b, err := l.ep.Buffer()
	if err != nil {
		return err
	}
	if _, err := b.Write(i.control); err != nil {
		b.Release()
		return fmt.Errorf("bus: control message of %d bytes: %w", len(i.control), err)
	}
	if err := l.ep.SendBuffer(b); err != nil {
		b.Release()
		return err
	}
	return nil
}

// completed takes the oldest item in flight. Loop only.
func (l *link) completed() {
	l.mu.Lock()
	i := l.inFlight.pop()
	l.inFlightBytes -= i.bytes()
	if i.page != nil {
		l.sentPages++
		l.sentMessages += uint64(i.page.messages)
		l.sentBytes += uint64(i.page.bytes)
	} else {
		l.controlBytes -= len(i.control)
	}
	l.pump()
	l.mu.Unlock()
	if i.page != nil {
		l.pinned.Add(-int64(i.page.size()))
		l.pub.release(i.page)
	}
	if i.last {
		_ = l.ep.Close()
	}
}

func (l *link) ready() {
	l.mu.Lock()
	if !l.dead {
		l.pump()
	}
	l.mu.Unlock()
}

// busy tells whether a page sealed now would only wait in the queue.
func (l *link) busy() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return !l.dead && (l.queue.len() > 0 || l.inFlightBytes >= l.pub.window)
}

// kill drops everything queued, because the connection has ended, and returns
// how many messages that were. Loop only.
func (l *link) kill() (dropped uint64) {
	l.mu.Lock()
	l.dead = true
	queues := [...]*ring[item]{&l.inFlight, &l.queue, &l.held}
	l.mu.Unlock()
	for _, q := range queues { // nobody else touches them once dead is set
		for q.len() > 0 {
			if i := q.pop(); i.page != nil {
				dropped += uint64(i.page.messages)
				l.drop(i.page)
			}
		}
	}
	return dropped
}

// fail closes the connection for a fault of the peer. Loop only.
func (l *link) fail(err error) {
	if l.fault != nil {
		return // it is closing already
	}
	l.fault = err
	l.pub.event(Event{Kind: Problem, Peer: l.peer, Err: err})
	_ = l.ep.Close()
}
