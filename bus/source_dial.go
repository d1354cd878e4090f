package bus

import (
	"errors"
	"fmt"
	"time"

	"tagbus/netio"
	"tagbus/subscription"
)

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

// reportRefusal reports why the publisher cannot be used, once for all tries
// that end the same way.
func (src *source) reportRefusal(err error) {
	if text := err.Error(); text != src.refusal {
		src.refusal = text
		src.sub.event(Event{Kind: Refused, Peer: src.describe(), Err: err})
	}
}

// describe returns what the directory says of the publisher.
func (src *source) describe() *Peer {
	p := &Peer{Instance: src.entry.Instance, Name: src.entry.Name, Host: src.entry.Host, PID: src.entry.PID}
	if len(src.entry.Addresses) > 0 {
		p.Addr = src.entry.Addresses[src.address%len(src.entry.Addresses)]
	}
	return p
}

func (src *source) dial() {
	addr := src.entry.Addresses[src.address%len(src.entry.Addresses)]
	src.state = sourceDialing
	err := src.sub.backend.OpenEndpoint(addr, netio.Params{
		Receive: netio.ReceiveParams{
			MaxMessageBytes:   frameBytes(src.entry.PageBytes, src.entry.MaxMessageBytes),
			FirstMessageBytes: subscription.MaxHelloBytes,
		},
		Buffered: netio.BufferedParams{Buffers: subscribeBuffers, BufferBytes: subscription.MaxControlBytes},
		Context:  src,
	})
	switch {
	case err == nil:
		src.sub.dialing[addr] = src
	case errors.Is(err, netio.ErrEndpointExists) && src.sub.connected(addr):
		src.refused(ErrStaleEntry) // another publisher has it, with an entry of its own
	default:
		src.refused(err)
	}
}

// refused tries the publisher's next address at once, and the first again
// after a delay.
func (src *source) refused(err error) {
	if src.address++; src.address < len(src.entry.Addresses) && src.wanted() {
		src.dial()
		return
	}
	src.address = 0
	src.reportRefusal(err)
	src.retry()
}

func (src *source) retry() {
	src.state = sourceIdle
	if !src.wanted() {
		src.unlisted()
	} else {
		src.state = sourceWaiting
		cfg := &src.sub.cfg
		src.after(min(max(src.backoff.NextBackOff(), cfg.ReconnectMin), cfg.ReconnectMax))
	}
	for _, sub := range src.sub.subs { // they need not wait for this one
		sub.maybeReady()
	}
}

// pending tells whether the publisher is being connected, or has not answered
// a subscription yet.
func (src *source) pending() bool {
	return src.state != sourceIdle && src.state != sourceWaiting
}

// alarm is what the timer does: it ends the delay or the patience.
func (src *source) alarm() {
	switch src.state {
	case sourceWaiting:
		src.state = sourceIdle
		src.consider()
		if src.state == sourceIdle {
			src.unlisted()
		}
	case sourceGreeting:
		src.fail(ErrHelloTimeout)
	case sourceIdle, sourceDialing, sourceReady:
	}
}

// after has alarm called in d, or not at all if d is 0.
func (src *source) after(d time.Duration) {
	src.due = time.Time{}
	if d > 0 {
		src.due = time.Now().Add(d)
	}
	src.sub.schedule()
}
