package bus

import (
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"tagbus/netio"
	"tagbus/subscription"
)

// source is the subscriber's side of one publisher: an entry of the directory
// and, while somebody wants its tags, the connection to it.
//
// Everything here runs on the loop.
type source struct {
	contact
	sub      *Subscriber
	met      time.Time    // the publisher: of the first connection
	vanished bool         // reported so
	fault    error        // why this side has closed the connection, or will
	pausing  int          // subscriptions whose queue is full
	out      ring[[]byte] // control messages to send
	sent     bool         // something of out was given to the endpoint since the last tick
	sending  int          // given to the endpoint and not completed
	leaving  bool         // close when all is sent
	accepted bool         // the publisher has dialed: a sender, which no directory lists
	pulse    pulse

	requested map[uint64]*Subscription // on this connection
	denied    map[uint64]error         // on this connection
	acked     map[uint64]*Subscription // ever, on this publisher: what it owes us
	lanes     []*tagMap[received]      // what has come, by the number of the lane
	told      map[laneTag]*lossCounts  // totals of the publisher whose positions have yet to come
	version   int                      // changes when targets may have changed
	reader    pageReader
}

func newSource(s *Subscriber) *source {
	src := &source{
		sub:       s,
		requested: make(map[uint64]*Subscription),
		denied:    make(map[uint64]error),
		acked:     make(map[uint64]*Subscription),
		version:   1,
	}
	src.contact = s.dialer.contact(src)
	return src
}

// params implements contactUser.
func (src *source) params() netio.Params {
	return netio.Params{
		Receive: netio.ReceiveParams{
			MaxMessageBytes:   frameBytes(src.entry.PageBytes, src.entry.MaxMessageBytes),
			FirstMessageBytes: subscription.MaxHelloBytes,
		},
		Buffered: netio.BufferedParams{Buffers: subscribeBuffers, BufferBytes: subscription.MaxControlBytes},
		Context:  src,
	}
}

// speakable tells whether this program can talk to the publisher, and reports
// it once if not.
func (src *source) speakable() bool {
	var err error
	if have := src.sub.backend.Name(); src.entry.Backend != have {
		err = fmt.Errorf("bus: publisher speaks %q, this subscriber %q: use the same backend", src.entry.Backend, have)
	} else if need := frameBytes(src.entry.PageBytes, src.entry.MaxMessageBytes); need > src.sub.cfg.MaxMessageBytes {
		err = fmt.Errorf("bus: publisher sends up to %d bytes at once, this subscriber receives %d: raise SubscriberConfig.MaxMessageBytes", need, src.sub.cfg.MaxMessageBytes)
	}
	if err != nil {
		src.reportRefusal(err)
	}
	return err == nil
}

// tried implements contactUser: nobody need wait for this publisher.
func (src *source) tried() {
	for _, sub := range src.sub.subs {
		sub.maybeReady()
	}
}

// consider connects if somebody wants the publisher's tags, and subscribes to
// what is not subscribed yet.
func (src *source) consider() {
	switch src.state {
	case contactIdle:
		if src.wanted() && src.speakable() {
			src.dial()
		}
	case contactReady:
		for _, sub := range src.sub.subs { // first those that go on, and know where
			if src.acked[sub.id] != nil {
				src.considerOne(sub)
			}
		}
		for _, sub := range src.sub.subs {
			src.considerOne(sub)
		}
	case contactDialing, contactGreeting, contactWaiting: // it comes to that
	}
}

// considerOne is consider for a single subscription.
func (src *source) considerOne(sub *Subscription) {
	switch {
	case src.state == contactIdle:
		src.consider()
	case src.state != contactReady || src.requested[sub.id] != nil || src.denied[sub.id] != nil:
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
	src.contact.established(ep)
	src.fault = nil
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
	wasReady := src.closed()
	src.out, src.sending, src.leaving = ring[[]byte]{}, 0, false
	if wasReady {
		src.sub.counters.publishers.Add(-1)
		src.sub.heart.leave()
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
	if src.accepted {
		src.await()
		return
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
	src.state = contactIdle
	if len(src.acked) == 0 || src.ended {
		src.sub.forget(src)
		return
	}
	src.vanish()
}

// vanish reports, once, that the publisher is gone for good without goodbye,
// unless it owes nothing.
func (src *source) vanish() {
	if !src.vanished && len(src.acked) > 0 && !src.ended {
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
	if src.state == contactReady {
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
		if err == nil {
			src.sent = true
			src.sending++
		}
		if err != nil {
			b.Release()
			if !errors.Is(err, netio.ErrNoResources) && !errors.Is(err, netio.ErrClosed) {
				src.fail(err)
			}
			return
		}
		src.out.pop()
	}
}

// completed takes the news that a message is on its way.
func (src *source) completed() {
	src.sending--
	src.leaveIfSent()
}

// leave closes the connection in order: behind what is still to be sent.
func (src *source) leave() {
	src.leaving = true
	src.leaveIfSent()
}

func (src *source) leaveIfSent() {
	if src.leaving && src.out.len() == 0 && src.sending == 0 && src.ep != nil {
		_ = src.ep.Close()
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
