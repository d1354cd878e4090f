// SPDX-License-Identifier: Apache-2.0

package bus_test

import (
	"sync/atomic"

	"tagbus/netio"
	"tagbus/subscription"
)

// breaker makes a deliberately broken variant of the bus: one that loses,
// repeats or forgets something once. The models must catch each; what they do
// not catch, they do not check.
type breaker struct {
	kind  subscription.Kind // of the messages that are lost or repeated; 0: none
	twice bool              // repeated instead of lost
	key   bool              // a completion is lost
	early bool              // from then on, what a sender has sent is acknowledged, handled or not

	left atomic.Int32 // how many of them pass before
}

// after returns a copy that breaks the nth.
func (k *breaker) after(n int) *breaker {
	c := &breaker{kind: k.kind, twice: k.twice, key: k.key, early: k.early}
	c.left.Store(int32(n))
	return c
}

func (k *breaker) opener(open netio.Opener) netio.Opener {
	if k == nil {
		return open
	}
	return func(h netio.Handler) (netio.Backend, error) {
		return open(&brokenHandler{Handler: h, breaker: k, asked: make(map[netio.Endpoint]bool)})
	}
}

type brokenHandler struct {
	netio.Handler
	breaker *breaker
	asked   map[netio.Endpoint]bool // for tags; loop only
}

// OnData implements netio.Handler.
func (h *brokenHandler) OnData(ep netio.Endpoint, data []byte) {
	kind := subscription.Kind(data[0])
	if b := h.breaker; b.kind == kind && b.left.Add(-1) == 0 {
		if !b.twice {
			return
		}
		h.Handler.OnData(ep, data)
	}
	h.Handler.OnData(ep, data)
	if kind == subscription.KindSubscribe {
		h.asked[ep] = true
	}
}

// OnSendCompleted implements netio.Handler.
func (h *brokenHandler) OnSendCompleted(c netio.Completion) {
	if h.breaker.key && h.breaker.left.Add(-1) == 0 {
		return
	}
	h.Handler.OnSendCompleted(c)
	if !h.breaker.early || !h.asked[c.Endpoint] || h.breaker.left.Add(-1) > 0 {
		return
	}
	for tag := range uint64(modelTags) {
		if ack, err := subscription.Append(nil, &subscription.Ack{Tag: tag, Position: 1}); err == nil {
			h.Handler.OnData(c.Endpoint, ack)
		}
	}
}
