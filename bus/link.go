package bus

import (
	"time"

	"tagbus/bus/internal/events"
	"tagbus/bus/internal/fanout"

	"tagbus/bus/internal/beat"
	"tagbus/bus/internal/ring"
	"tagbus/netio"
)

// link is the publisher's side of the connection to one subscriber: what the loop knows
// of the session. What publishing goroutines share of it is its outbox.
type link struct {
	pub *Publisher
	ep  netio.Endpoint
	out fanout.Outbox

	// Loop only.
	state       linkState
	left        time.Time // linkLeaving: when
	owed        bool      // it had a subscription when it was taken out of the routes
	parted      bool      // the subscriber has said goodbye
	asked       bool      // a group of subscriptions was complete
	dismissed   bool      // goodbye is said to it
	dialed      bool      // by this side: the peer may be idle, and acknowledges pages
	peer        *Peer
	fault       error // why this side closes, or has closed
	pulse       beat.Pulse
	deadline    beat.Deadline // for the hello, and then for a subscription
	stalled     bool          // reported
	pausing     int           // reasons not to read, see pause
	events      events.Conn
	jobs        ring.Ring[linkJob]
	working     bool // paused for the jobs
	unrouting   bool // being taken out of the routes, for good
	unrouted    bool
	afterwards  []func() // when it is
	predecessor *link    // the older connection of the subscriber for which this one waits
	successor   func()   // of the newest one, called when this one is forgotten
	idle        bool     // a subscriber without subscription
}

type linkState int

const (
	linkHello   linkState = iota // the peer has not said hello
	linkReady                    // the peer may subscribe
	linkLeaving                  // a last message is on its way
)

// fail closes the connection for a fault of the peer. Loop only.
func (l *link) fail(err error) {
	if l.fault != nil {
		return // it is closing already
	}
	l.fault = err
	l.event(Event{Kind: Problem, Peer: l.peer, Err: err})
	_ = l.ep.Close()
}
