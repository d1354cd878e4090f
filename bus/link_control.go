package bus

import (
	"fmt"
	"slices"
	"time"

	"tagbus/bus/internal/ring"
	"tagbus/subscription"
)

// send queues a control message. In a lane it stays in order with the pages before it,
// except those that cork holds back. Without a lane it goes before all pages.
func (l *link) send(n *lane, m subscription.Message) {
	queue := &l.control
	if n != nil {
		queue = &n.queue
	}
	l.sendIn(queue, n, m)
}

// sendIn queues a control message about a lane in a certain queue.
func (l *link) sendIn(queue *ring.Ring[item], n *lane, m subscription.Message) {
	b, err := subscription.Append(nil, m)
	if err != nil { // only possible for a message that this package built too long
		l.fail(err)
		return
	}
	l.sendControl(queue, item{control: b, lane: n})
}

// sendControl queues a control message in one of the queues of l.
func (l *link) sendControl(queue *ring.Ring[item], i item) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.dead {
		return
	}
	if l.controlBytes += i.cost(); l.controlBytes > l.pub.controlLimit() {
		l.failSoon(errControlOverflow)
		return
	}
	queue.Push(i)
	l.pump()
}

// controlCost is added to the bytes of a control message, so that tiny ones are limited
// too.
const controlCost = 32

// cost returns the share of a control message in controlLimit.
func (i *item) cost() int { return len(i.control) + controlCost }

// failSoon posts a call of fail, once. It may run on any goroutine. mu is held.
func (l *link) failSoon(err error) {
	if !l.failing {
		l.failing = true
		l.pub.loop.Post(func() { l.fail(err) })
	}
}

// controlLimit bounds the bytes of queued answers for one subscriber. A single answer
// may have to name every tag.
func (p *Publisher) controlLimit() int {
	return maxControlQueue + subscription.MaxPositionBytes*int(p.knownTags.Load())
}

var errControlOverflow = fmt.Errorf("%w: the subscriber asks faster than it reads the answers", ErrProtocol)

// refuse sends the peer the reason of a refusal, instead of a hello. Loop only.
func (l *link) refuse(reason error) {
	b, err := subscription.Append(nil, refusal(0, reason))
	if err != nil {
		l.fail(err)
		return
	}
	l.leave(b, reason)
}

// leave closes the connection once a last message is sent, and reports the reason. Loop
// only.
func (l *link) leave(last []byte, reason error) {
	l.closeAfter(last, reason)
	l.event(Event{Kind: Refused, Peer: l.peer, Err: reason})
}

// closeAfter closes the connection once a last message is sent. Loop only.
func (l *link) closeAfter(last []byte, reason error) {
	l.state, l.fault, l.pulse.last = linkLeaving, reason, time.Now()
	l.sendControl(&l.control, item{control: last, last: true})
}

// expand replaces the losses at the front of a queue, or those of its first thousands
// of tags, by the control messages that report them. mu is held.
func (l *link) expand(queue *ring.Ring[item]) {
	x := queue.Front()
	part := x.losses.Take(maxTold)
	lane := x.lane
	if x.losses.Tags() == 0 {
		queue.Pop()
	}
	var all []item
	part.Lists(func(cause subscription.Cause, counts []subscription.Position) {
		for list := range positionLists(counts) {
			b, err := subscription.Append(nil, &subscription.Lost{Lane: lane.number, Cause: cause, List: list})
			if err != nil { // only possible for a message that this package built too long
				l.failSoon(err)
				return
			}
			i := item{lane: x.lane, control: b}
			l.controlBytes += i.cost()
			all = append(all, i)
		}
	})
	for _, i := range slices.Backward(all) {
		queue.PushFront(i)
	}
}

// goodbye queues a goodbye behind everything else.
func (l *link) goodbye() {
	b, err := subscription.Append(nil, &subscription.Goodbye{})
	if err != nil {
		l.fail(err)
		return
	}
	l.sendControl(&l.last, item{control: b})
}
