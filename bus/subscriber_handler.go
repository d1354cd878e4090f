package bus

import (
	"net/netip"
	"sync/atomic"

	"tagbus/bus/internal/ledger"
	"tagbus/netio"
	"tagbus/subscription"
)

// subscriberHandler is a Subscriber as its backend sees it. Every method runs
// on the loop.
type subscriberHandler struct{ *Subscriber }

// OnConnectionEstablished implements netio.Handler.
func (s subscriberHandler) OnConnectionEstablished(ep netio.Endpoint) {
	ep.Context().(*source).established(ep)
}

// OnConnectionRefused implements netio.Handler.
func (s subscriberHandler) OnConnectionRefused(addr netip.AddrPort, err error) {
	s.dialer.Refused(addr, err)
}

// OnConnectionClosed implements netio.Handler.
func (s subscriberHandler) OnConnectionClosed(ep netio.Endpoint, _ []netio.Key, cause error) {
	ep.Context().(*source).lost(cause)
}

// OnData implements netio.Handler.
func (s subscriberHandler) OnData(ep netio.Endpoint, data []byte) {
	if !s.closed.Load() {
		ep.Context().(*source).onData(data)
	}
}

// OnSendCompleted implements netio.Handler.
func (s subscriberHandler) OnSendCompleted(c netio.Completion) {
	c.Endpoint.Context().(*source).completed()
}

// OnSendReady implements netio.Handler.
func (s subscriberHandler) OnSendReady(ep netio.Endpoint) { ep.Context().(*source).pump() }

// SubscriberStats counts what a subscriber has seen.
type SubscriberStats struct {
	Publishers int    // connected now
	Messages   uint64 // received in a subscription's set
	Bytes      uint64 // payload of those
	Pages      uint64
	Lost       uint64 // messages reported by Gap events, except those left out
	LeftOut    uint64 // messages left out by the policies Latest and Sample
	Overflowed uint64 // messages received and lost in the full queues of subscriptions without handler: Subscription.Overflowed
	Unwanted   uint64 // messages that came after their subscription was closed here
	Panics     uint64 // handler calls that panicked
	Silent     uint64 // connections closed here because nothing was heard of the publisher

	Retained      int    // messages that are retained now
	RetainedBytes int    // memory that is kept for them
	RetainRefused uint64 // calls of Retain beyond SubscriberConfig.RetainBytes

	Losses Losses // Lost and LeftOut by cause
}

type subscriberCounters struct {
	publishers                                       atomic.Int64
	messages, bytes, pages, unwanted, panics, silent atomic.Uint64
	lost                                             [subscription.Causes + 1]atomic.Uint64
}

// Stats returns the subscriber's counters, correct to the page.
func (s *Subscriber) Stats() SubscriberStats {
	c := &s.counters
	var lost ledger.Counts
	for cause := range lost {
		lost[cause] = c.lost[cause].Load()
	}
	losses := lossesOf(&lost)
	retained, retainedBytes, retainRefused := s.retainer.stats()
	return SubscriberStats{
		Publishers: int(c.publishers.Load()), Messages: c.messages.Load(), Bytes: c.bytes.Load(), Pages: c.pages.Load(),
		Lost: losses.Lost(), LeftOut: losses.LeftOut, Unwanted: c.unwanted.Load(), Panics: c.panics.Load(), Silent: c.silent.Load(),
		Retained: retained, RetainedBytes: retainedBytes, RetainRefused: retainRefused,
		Losses: losses, Overflowed: lost[ledger.Queue],
	}
}
