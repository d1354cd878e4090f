package bus_test

import (
	"sync/atomic"

	"tagbus/netio"
	"tagbus/subscription"
)

// breaker makes a deliberately broken variant of the bus: one that loses,
// repeats or forgets something once. The model must catch each; what it does
// not catch, it does not check.
type breaker struct {
	kind  subscription.Kind // of the messages that are lost or repeated; 0: none
	twice bool              // repeated instead of lost
	key   bool              // a completion is lost

	left atomic.Int32 // how many of them pass before
}

// after returns a copy that breaks the nth.
func (k *breaker) after(n int) *breaker {
	c := &breaker{kind: k.kind, twice: k.twice, key: k.key}
	c.left.Store(int32(n))
	return c
}

func (k *breaker) opener(open netio.Opener) netio.Opener {
	if k == nil {
		return open
	}
	return func(h netio.Handler) (netio.Backend, error) { return open(brokenHandler{h, k}) }
}

type brokenHandler struct {
	netio.Handler
	breaker *breaker
}

// OnData implements netio.Handler.
func (h brokenHandler) OnData(ep netio.Endpoint, data []byte) {
	if b := h.breaker; b.kind == subscription.Kind(data[0]) && b.left.Add(-1) == 0 {
		if !b.twice {
			return
		}
		h.Handler.OnData(ep, data)
	}
	h.Handler.OnData(ep, data)
}

// OnSendCompleted implements netio.Handler.
func (h brokenHandler) OnSendCompleted(c netio.Completion) {
	if h.breaker.key && h.breaker.left.Add(-1) == 0 {
		return
	}
	h.Handler.OnSendCompleted(c)
}
