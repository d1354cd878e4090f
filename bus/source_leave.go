package bus

import (
	"time"

	"tagbus/subscription"
)

// How a subscriber leaves a publisher, and how it confirms the messages that it has
// received. Otherwise the publisher would know only what it has given to the transport.

// countPage counts the messages received in the page so far.
func (src *source) countPage() {
	p := &src.page
	if n := p.messages + p.unwanted - p.counted; n > 0 { // else there may be no such lane
		p.counted += n
		src.lanes[src.reader.Lane].messages += n
	}
}

// begin reports how many messages of a lane earlier connections have brought, when the
// lane is first acknowledged on this one. Missed messages are reported before.
func (src *source) begin(lane uint16) {
	if n := src.lane(lane); !n.here {
		n.here, n.told = true, n.messages
		src.send(&subscription.Received{Lane: lane, Messages: n.messages})
	}
}

// tellReceived reports how many messages have been received, if that is more than last
// time.
func (src *source) tellReceived() {
	for number, n := range src.lanes {
		if n.here && n.told != n.messages {
			n.told = n.messages
			src.send(&subscription.Received{Lane: uint16(number), Messages: n.messages})
		}
	}
}

// leave ends the connection in order, behind the messages still to be sent.
func (src *source) leave() {
	src.leaving = true
	src.leaveIfSent()
}

// leaveIfSent says goodbye once all else is sent, and then closes.
func (src *source) leaveIfSent() {
	switch {
	case !src.leaving || src.contact.ep == nil || !src.out.Idle():
	case src.parted:
		_ = src.contact.ep.Close()
	default:
		src.part()
	}
}

// part says goodbye. Nothing comes after it.
func (src *source) part() {
	src.countPage() // a handler may have closed the subscriber
	src.tellReceived()
	src.queue(&subscription.Goodbye{})
	src.leaving, src.parted = true, true
	src.pump()
}

// goodbyeTime is how long Close waits for the transport to take the last messages of a
// subscriber.
const goodbyeTime = 250 * time.Millisecond

// farewell says goodbye to all publishers. gone is closed when that is done.
// Loop only.
func (s *Subscriber) farewell() {
	s.parting = true
	for _, src := range s.sources {
		if src.contact.ep != nil && src.fault == nil && !src.parted {
			src.part()
		}
	}
	s.departed()
}

// departed notes that a connection has ended. Loop only.
func (s *Subscriber) departed() {
	if !s.parting {
		return
	}
	for _, src := range s.sources {
		if src.contact.ep != nil && src.fault == nil {
			return
		}
	}
	s.parting = false
	close(s.gone)
}
