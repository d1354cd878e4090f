package bus

import (
	"time"

	"tagbus/subscription"
)

// How a subscriber leaves a publisher, and how it tells what it has received. Without
// that the publisher would know only what it has given to the transport.

// countPage counts the messages that were received in the page so far.
func (src *source) countPage() {
	p := &src.page
	if n := p.messages + p.unwanted - p.counted; n > 0 { // else there may be no such lane
		p.counted += n
		src.lanes[src.reader.Lane].messages += n
	}
}

// begin tells how many messages of a lane earlier connections have brought, when the
// lane is first acknowledged on this one. What was missed is already told.
func (src *source) begin(lane uint16) {
	if n := src.lane(lane); !n.here {
		n.here, n.told = true, n.messages
		src.send(&subscription.Received{Lane: lane, Messages: n.messages})
	}
}

// tellReceived tells how many messages have been received, if there are more
// than it has told.
func (src *source) tellReceived() {
	for number, n := range src.lanes {
		if n.here && n.told != n.messages {
			n.told = n.messages
			src.send(&subscription.Received{Lane: uint16(number), Messages: n.messages})
		}
	}
}

// leave ends the connection in order: behind what is still to be sent.
func (src *source) leave() {
	src.leaving = true
	src.leaveIfSent()
}

// leaveIfSent says goodbye when all else is sent, and then closes.
func (src *source) leaveIfSent() {
	switch {
	case !src.leaving || src.contact.ep == nil || src.out.Len() > 0 || src.sending > 0:
	case src.parted:
		_ = src.contact.ep.Close()
	default:
		src.part()
	}
}

// part says goodbye: nothing comes after it.
func (src *source) part() {
	src.countPage() // a handler may have closed the subscriber
	src.tellReceived()
	src.queue(&subscription.Goodbye{})
	src.leaving, src.parted = true, true
	src.pump()
}

// goodbyeTime is how long a subscriber that is closed waits for its last messages
// to be taken by the transport.
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
