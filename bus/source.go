package bus

import (
	"errors"
	"io"
	"os"
	"time"

	"github.com/cenkalti/backoff/v5"

	"tagbus/bus/directory"
	"tagbus/netio"
	"tagbus/subscription"
)

// source is the subscriber's side of one publisher: an entry of the directory
// and, while somebody wants its tags, the connection to it.
//
//	idle ──► dialing ──► greeting ──► ready
//	 ▲          │            │          │
//	 │          ▼            ▼          │
//	 └──────  waiting  ◄────────────────┘   (refused, lost)
//
// Everything here runs on the loop.
type source struct {
	sub      *Subscriber
	entry    directory.Entry
	listed   bool // in the directory
	vanished bool // reported so
	state    sourceState
	gone     time.Time // when it left the directory
	ended    bool      // it said goodbye: never dial again
	address  int       // which of the entry's addresses is dialed
	refusal  string    // reported last, so as not to report it at every try
	fault    error     // why this side has closed the connection, or will

	ep      netio.Endpoint
	peer    *Peer
	since   time.Time    // of the connection: when it became ready
	met     time.Time    // of the first connection
	pausing int          // subscriptions whose queue is full
	out     ring[[]byte] // control messages to send
	sent    bool         // something of out was given to the endpoint since the last tick
	pulse   pulse

	due     time.Time // end of the delay before the next try, or of the patience for the hello
	backoff *backoff.ExponentialBackOff

	requested map[uint64]*Subscription // on this connection
	denied    map[uint64]error         // on this connection
	acked     map[uint64]*Subscription // ever, on this publisher: what it owes us
	lanes     []*tagMap[received]      // what has come, by the number of the lane
	told      map[laneTag]*lossCounts  // totals of the publisher whose positions have yet to come
	version   int                      // changes when targets may have changed
	reader    pageReader
}

type sourceState int

const (
	sourceIdle sourceState = iota
	sourceDialing
	sourceGreeting
	sourceReady
	sourceWaiting
)

func newSource(s *Subscriber) *source {
	b := backoff.NewExponentialBackOff()
	b.InitialInterval, b.MaxInterval = s.cfg.ReconnectMin, s.cfg.ReconnectMax
	b.Reset()
	return &source{
		sub:       s,
		backoff:   b,
		requested: make(map[uint64]*Subscription),
		denied:    make(map[uint64]error),
		acked:     make(map[uint64]*Subscription),
		version:   1,
	}
}

// consider connects if somebody wants the publisher's tags, and subscribes to
// what is not subscribed yet.
func (src *source) consider() {
	switch src.state {
	case sourceIdle:
		if src.wanted() && src.speakable() {
			src.dial()
		}
	case sourceReady:
		for _, sub := range src.sub.subs { // first those that go on, and know where
			if src.acked[sub.id] != nil {
				src.considerOne(sub)
			}
		}
		for _, sub := range src.sub.subs {
			src.considerOne(sub)
		}
	case sourceDialing, sourceGreeting, sourceWaiting: // it comes to that
	}
}

// considerOne is consider for a single subscription.
func (src *source) considerOne(sub *Subscription) {
	switch {
	case src.state == sourceIdle:
		src.consider()
	case src.state != sourceReady || src.requested[sub.id] != nil || src.denied[sub.id] != nil:
	case sub.set.Intersects(src.entry.Tags):
		src.requested[sub.id] = sub
		src.subscribe(sub)
	}
}

func (src *source) wanted() bool {
	if src.ended || !src.listed {
		return false
	}
	for _, sub := range src.sub.subs {
		if sub.set.Intersects(src.entry.Tags) {
			return true
		}
	}
	return false
}

// established says hello.
func (src *source) established(ep netio.Endpoint) {
	src.ep, src.state, src.fault = ep, sourceGreeting, nil
	src.peer = src.describe()
	src.peer.Addr = ep.Remote()
	hello, err := subscription.AppendHello(nil, subscription.Hello{
		Instance: src.sub.instance, Expect: src.entry.Instance, Name: src.sub.cfg.Name,
		Host: src.sub.host, PID: os.Getpid(), MaxMessageBytes: src.sub.cfg.MaxMessageBytes,
		BeatMillis: src.sub.heart.millis(),
	})
	if err != nil {
		src.fail(err)
		return
	}
	src.out.push(hello)
	src.pump()
	src.after(src.sub.cfg.HelloTimeout)
}

// lost cleans up after a connection, and goes back to dialing.
func (src *source) lost(cause error) {
	wasReady := src.state == sourceReady
	src.ep = nil
	src.out = ring[[]byte]{}
	src.after(0)
	if wasReady {
		src.sub.counters.publishers.Add(-1)
		src.sub.heart.leave()
		if time.Since(src.since) >= src.sub.cfg.ReconnectMax {
			src.backoff.Reset() // it worked; one that fails soon after hello gets no new patience
		}
	}
	if src.sub.closed.Load() {
		return
	}
	src.disconnect()
	src.sub.reportSkipped()
	if cause == nil {
		cause = src.fault
	}
	if !wasReady { // it never worked: try the next address
		if cause == nil {
			cause = io.EOF
		}
		src.refused(cause)
		return
	}
	if !src.ended || cause != nil {
		src.sub.event(Event{Kind: Lost, Peer: src.peer, Err: cause})
	}
	src.retry()
}

// unlisted forgets a publisher that is neither in the directory nor connected,
// unless it owes messages: should it come back, they are counted.
func (src *source) unlisted() {
	if src.listed || src.pending() {
		return
	}
	src.after(0)
	src.state = sourceIdle
	if len(src.acked) == 0 || src.ended {
		src.sub.forget(src)
		return
	}
	if !src.vanished {
		src.vanished = true
		src.sub.event(Event{Kind: Vanished, Peer: src.peer, Tags: src.entry.Tags})
	}
}

// fail ends the connection for a fault of the publisher.
func (src *source) fail(err error) {
	if src.fault != nil || src.ep == nil {
		return
	}
	src.fault = err
	if src.state == sourceReady {
		src.sub.event(Event{Kind: Problem, Peer: src.peer, Err: err})
	}
	_ = src.ep.Close()
}

// pump sends what waits in out.
func (src *source) pump() {
	for src.ep != nil && src.out.len() > 0 {
		b, err := src.ep.Buffer()
		if err != nil {
			return // OnSendReady or OnConnectionClosed follows
		}
		if _, err = b.Write(*src.out.front()); err == nil {
			err = src.ep.SendBuffer(b)
		}
		if err != nil {
			b.Release()
			if !errors.Is(err, netio.ErrNoResources) && !errors.Is(err, netio.ErrClosed) {
				src.fail(err)
			}
			return
		}
		src.sent = true
		src.out.pop()
	}
}

func (src *source) send(m subscription.Message) {
	b, err := subscription.Append(nil, m)
	if err != nil {
		src.fail(err)
		return
	}
	src.out.push(b)
	src.pump()
}
