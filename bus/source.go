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
	"tagbus/tags"
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

	requests map[uint64]*request     // by the id of the subscription
	open     int                     // requests that this connection has, or is asked for or to end
	owing    int                     // requests for which the publisher owes messages
	lanes    []*sourceLane           // what has come, by the number of the lane
	told     map[laneTag]*lossCounts // totals of the publisher whose positions have yet to come
	version  int                     // changes when targets may have changed
	reader   pageReader

	edition   int                  // of entry
	ever      tags.Set             // all tags that it has served
	announced []announcement       // of the tags that it serves
	rivals    map[*source]*rivalry // publishers that have served tags of this one
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
		sub:      s,
		backoff:  b,
		requests: make(map[uint64]*request),
		rivals:   make(map[*source]*rivalry),
		version:  1,
	}
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
	if src.owing == 0 || src.ended {
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
	src.queue(m)
	src.pump()
}

// queue queues a control message for pump.
func (src *source) queue(m subscription.Message) {
	b, err := subscription.Append(nil, m)
	if err != nil {
		src.fail(err)
		return
	}
	src.out.push(b)
}
