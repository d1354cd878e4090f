package bus

import (
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"tagbus/netio"
	"tagbus/subscription"
	"tagbus/tags"
)

// source is the subscriber's side of one publisher: an entry of the directory
// and, while somebody wants its tags, the connection to it.
//
// Everything here runs on the loop.
type source struct {
	contact
	sub      *Subscriber
	met      time.Time // the publisher: of the first connection
	vanished bool      // reported so
	fault    error     // why this side has closed the connection, or will
	pausing  int       // reasons not to read, see pause
	events   causedEvents
	out      ring[[]byte] // control messages to send
	outBytes int          // of out, see push
	unread   bool         // too many of them wait
	moved    bool         // one was completed since the last tick
	sent     bool         // something of out was given to the endpoint since the last tick
	sending  int          // given to the endpoint and not completed
	leaving  bool         // say goodbye when all is sent
	seek     seek
	parted   bool      // goodbye is said: close when it is sent
	toldAt   time.Time // when it was last told how much has been received
	accepted bool      // the publisher has dialed: a sender, which no directory lists
	spoken   bool      // a page has come on this connection
	pulse    pulse
	steps    int  // of work that the publisher's last message has caused: see chore
	spent    int  // the same in a slice of the subscriber's chores
	spentIn  int  // which slice
	paid     int  // steps of that slice that are taken off its budget already
	resting  bool // reads nothing until the next slice of the subscriber's chores

	asking  int           // groups that are being sent
	wanting *Subscription // wanted the publisher when it was last looked at

	forgetting            bool // what belonged to the last connection is being forgotten
	revising, reviseAgain bool // all subscriptions are being looked at, to be asked for; and then once more
	seeking, seekAgain    bool // they are, to find one that wants the publisher

	requests map[uint64]*request     // by the id of the subscription
	open     int                     // requests that this connection has, or is asked for or to end
	owing    int                     // requests for which the publisher owes messages
	lanes    []*sourceLane           // what has come, by the number of the lane
	lostSum  uint64                  // of lanes: what was lost or left out of all tags
	told     map[laneTag]*lossCounts // totals of the publisher whose positions have yet to come
	version  int                     // changes when targets may have changed
	reader   pageReader
	page     delivered       // what has come of the page that is being delivered
	origin   origin          // of the messages of a page
	batches  []*Subscription // that have pending messages of this page

	ever      tags.Set             // all tags that it has served
	announced []announcement       // of the tags that it serves
	rivals    map[*source]*rivalry // publishers that serve tags of this one, or have
}

func newSource(s *Subscriber) *source {
	src := &source{
		sub:      s,
		requests: make(map[uint64]*request),
		rivals:   make(map[*source]*rivalry),
		version:  1,
	}
	s.dialer.prepare(&src.contact, src)
	src.report = src.event
	src.origin.retainer, src.origin.keep = s.retainer, src.keep
	return src
}

// keep keeps the memory of the page that is being delivered.
func (src *source) keep() (netio.Retained, error) {
	if src.ep == nil {
		return nil, netio.ErrNoMessage
	}
	return src.ep.Retain()
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
		err = &BackendError{src.entry.Role, src.entry.Backend, have}
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
	src.sought()
	src.sub.checkReady()
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
	src.push(hello)
	src.pump()
	src.after(src.sub.cfg.HelloTimeout)
}

// lost cleans up after a connection, and goes back to dialing.
func (src *source) lost(cause error) {
	wasReady := src.closed()
	if src.parted && errors.Is(cause, io.EOF) {
		cause = nil // the publisher has closed first
	}
	src.dropOut()
	src.sending, src.leaving, src.parted = 0, false, false
	src.sub.departed()
	if wasReady {
		src.sub.counters.publishers.Add(-1)
		src.sub.heart.leave()
	}
	if src.sub.closed.Load() {
		return
	}
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
	src.sub.reportSkipped()
	if !src.ended || cause != nil {
		src.event(Event{Kind: Lost, Peer: src.peer, Err: cause})
	}
	src.state, src.revising = contactWaiting, false // until everything of the connection is forgotten
	src.disconnect(src.goBack)
}

// goBack goes back to dialing, or to being dialed, when nothing is left of a
// connection. In the meantime the publisher may have come back or been forgotten.
func (src *source) goBack() {
	switch {
	case src.state != contactWaiting || src.sub.sources[src.entry.Instance] != src || src.sub.closed.Load():
	case src.accepted:
		src.await()
	default:
		src.retry()
	}
}

// unlisted forgets a publisher that is neither in the directory nor connected,
// unless it owes messages: should it come back, they are counted.
func (src *source) unlisted() {
	if src.listed || src.pending() || src.sub.sources[src.entry.Instance] != src {
		return
	}
	if src.forgetting || src.seeking {
		return // it comes to that
	}
	if src.seeks() {
		return
	}
	src.after(0)
	src.state = contactIdle
	if src.owing == 0 || src.ended {
		src.sub.forget(src)
		return
	}
	src.vanish()
}

// vanish reports, once, that the publisher is gone for good without goodbye,
// unless it owes nothing.
func (src *source) vanish() {
	if !src.vanished && src.owing > 0 && !src.ended {
		src.vanished = true
		src.event(Event{Kind: Vanished, Peer: src.peer, Tags: src.entry.Tags})
	}
}

// fail ends the connection for a fault of the publisher.
func (src *source) fail(err error) {
	if src.fault != nil || src.ep == nil {
		return
	}
	src.fault = err
	if src.state == contactReady {
		src.event(Event{Kind: Problem, Peer: src.peer, Err: err})
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
		src.popped(src.out.pop())
	}
}

// completed takes the news that a message is on its way.
func (src *source) completed() {
	src.sending--
	src.moved = true
	src.leaveIfSent()
}

func (src *source) send(m subscription.Message) {
	src.queue(m)
	src.pump()
}

// queue queues a control message for pump.
func (src *source) queue(m subscription.Message) {
	if src.parted {
		return // nothing comes after a goodbye
	}
	b, err := subscription.Append(nil, m)
	if err != nil {
		src.fail(err)
		return
	}
	src.push(b)
}
