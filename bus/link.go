package bus

import (
	"errors"
	"fmt"
	"sync"

	"tagbus/bus/internal/ledger"
	"tagbus/bus/internal/ring"
	"tagbus/bus/internal/wire"
	"tagbus/netio"
	"tagbus/tags"
)

// link is the publisher's side of the connection to one subscriber.
//
// Pages come from any publishing goroutine, completions from the loop. Both hold mu
// only for a few operations on queues. The endpoint's methods are called under mu. That
// is safe because a backend never calls back from inside them.
type link struct {
	pub *Publisher
	ep  netio.Endpoint

	mu            sync.Mutex
	control       ring.Ring[item] // control messages that need not stay among pages: they go first
	lanes         []*lane         // in turn
	turn          int             // of lanes
	last          ring.Ring[item] // sent after everything else
	inFlight      ring.Ring[item] // given to the endpoint, in order
	inFlightBytes int
	controlBytes  int  // of control messages in all queues
	closing       bool // it gets nothing more
	failing       bool // fail is posted
	dead          bool
	sent, moved   bool                    // since the last tick: something was given to the endpoint; something completed
	receipts      map[tags.Tag][]*receipt // of pages queued or sent, ascending by position
	header        [wire.HeaderBytes]byte  // of the page that is being posted

	sentPages, sentMessages, sentBytes uint64

	// Loop only.
	state      linkState
	owed       bool // it had a subscription when it was taken out of the routes
	parted     bool // the subscriber has said goodbye
	asked      bool // a group of subscriptions was complete
	dismissed  bool // goodbye is said to it
	dialed     bool // by this side: the peer may be idle, and acknowledges pages
	peer       *Peer
	fault      error // why this side closes, or has closed
	pulse      pulse
	deadline   deadline // for the hello, and then for a subscription
	stalled    bool     // reported
	pausing    int      // reasons not to read, see pause
	events     causedEvents
	jobs       ring.Ring[linkJob]
	working    bool // paused for the jobs
	torn       bool // a job was aborted: routes may lead here that no subscription wants
	unrouting  bool // being taken out of the routes, for good
	unrouted   bool
	afterwards []func() // when it is
	successors []func() // of newer connections of the subscriber, called when this one is forgotten
	incomplete incoming
	seat       seat
	subs       map[uint64]*lane // by the id of the subscription
}

type linkState int

const (
	linkHello   linkState = iota // the peer has not said hello
	linkReady                    // the peer may subscribe
	linkLeaving                  // a last message is on its way
)

// item is one transport message to a subscriber: a page or a control message.
type item struct {
	lane    *lane // nil for what belongs to the connection
	page    *page
	control []byte
	losses  *ledger.Notice // to become control messages
	last    bool           // close the connection when it is sent
	key     netio.Key      // in flight: what its completion has to name
}

func (i *item) bytes() int {
	if i.page != nil {
		return i.page.bytes
	}
	return len(i.control)
}

// pump gives the endpoint as much as keeps it busy. mu is held. A policy can still
// reorder or drop queued items, but not those in flight.
func (l *link) pump() {
	for l.inFlight.Len() < maxInFlight {
		queue := l.next()
		if queue == nil {
			return
		}
		i := queue.Front()
		if i.losses != nil {
			l.expand(queue)
			continue
		}
		if err := l.post(i); err != nil {
			if !errors.Is(err, netio.ErrNoResources) && !errors.Is(err, netio.ErrClosed) {
				l.failSoon(err)
			}
			return // OnSendReady or OnConnectionClosed goes on
		}
		l.sent = true
		l.inFlightBytes += i.bytes()
		if i.page != nil {
			i.lane.givenMessages += uint64(i.page.messages)
			i.page.receipt.given(i.lane)
		}
		l.inFlight.Push(queue.Pop())
	}
}

// next returns the queue to send from: control before data, and the lanes in turn. mu
// is held.
func (l *link) next() *ring.Ring[item] {
	if l.control.Len() > 0 {
		return &l.control
	}
	if l.inFlightBytes >= l.pub.window {
		return nil
	}
	empty := true
	for range l.lanes {
		l.turn = (l.turn + 1) % len(l.lanes)
		n := l.lanes[l.turn]
		if n.queue.Len() > 0 {
			return &n.queue
		}
		empty = empty && n.held.Len() == 0
	}
	if empty && l.last.Len() > 0 {
		return &l.last
	}
	return nil
}

func (l *link) post(i *item) error {
	if i.page != nil {
		wire.PutHeader(&l.header, i.lane.number, i.lane.alone(), i.page.receipt != nil, i.page.messages)
		i.key = i.page.key
		return l.ep.Send(i.key, l.header[:], i.page.vector...)
	}
	b, err := l.ep.Buffer()
	if err != nil {
		return err
	}
	if _, err := b.Write(i.control); err != nil {
		b.Release()
		return fmt.Errorf("bus: control message of %d bytes: %w", len(i.control), err)
	}
	i.key = b.Key() // before the buffer is the backend's
	if err := l.ep.SendBuffer(b); err != nil {
		b.Release()
		return err
	}
	return nil
}

// completed removes the oldest item in flight. key must be its key: the memory of
// another item may still be in use. Loop only.
func (l *link) completed(key netio.Key) {
	l.mu.Lock()
	l.moved = true
	if l.inFlight.Len() == 0 || l.inFlight.Front().key != key {
		l.mu.Unlock()
		l.fail(fmt.Errorf("%w: key %d", ErrTransport, key))
		return
	}
	i := l.inFlight.Pop()
	l.inFlightBytes -= i.bytes()
	if i.page != nil {
		l.sentPages++
		l.sentMessages += uint64(i.page.messages)
		i.lane.sentMessages += uint64(i.page.messages)
		l.sentBytes += uint64(i.page.bytes)
	} else {
		l.controlBytes -= i.cost()
	}
	l.pump()
	l.mu.Unlock()
	if i.page != nil {
		i.lane.drop(i.page)
	}
	if i.last {
		_ = l.ep.Close()
	}
}

// gone reports whether the connection has ended, or is about to.
func (l *link) gone() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.closing || l.dead
}

func (l *link) ready() {
	l.mu.Lock()
	if !l.dead {
		l.pump()
	}
	l.mu.Unlock()
}

// kill drops everything queued after the end of the connection, and counts it per lane.
// Until the lanes are out of all routes, further pages are dropped as they come. Loop
// only.
func (l *link) kill() {
	l.mu.Lock()
	l.dead = true
	queues := []*ring.Ring[item]{&l.inFlight}
	for _, n := range l.lanes {
		queues = append(queues, &n.queue, &n.held)
	}
	l.mu.Unlock()
	for _, q := range queues { // no other goroutine touches them once dead is set
		for q.Len() > 0 {
			if i := q.Pop(); i.page != nil {
				l.mu.Lock()
				i.lane.dropped += uint64(i.page.messages)
				l.mu.Unlock()
				if q != &l.inFlight {
					l.forsake(i.page.receipt, ErrReceiverLost)
				}
				i.lane.drop(i.page)
			}
		}
	}
	l.abandon()
}

// fail closes the connection for a fault of the peer. Loop only.
func (l *link) fail(err error) {
	if l.fault != nil {
		return // it is closing already
	}
	l.fault = err
	l.event(Event{Kind: Problem, Peer: l.peer, Err: err})
	_ = l.ep.Close()
}
