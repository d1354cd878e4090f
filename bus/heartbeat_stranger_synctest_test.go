// SPDX-License-Identifier: Apache-2.0

package bus_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"tagbus/bus"
	"tagbus/netio"
	"tagbus/subscription"
	"tagbus/tags"
)

// hand is a peer made by hand that goes on sending: it keeps its connections.
type hand struct {
	stranger
	eps chan netio.Endpoint
}

func newHand() *hand { return &hand{eps: make(chan netio.Endpoint, 1<<14)} }

func (h *hand) OnConnectionEstablished(ep netio.Endpoint) {
	h.stranger.OnConnectionEstablished(ep)
	h.eps <- ep
}

// connect opens a connection on which the answer of h is sent.
func (h *hand) connect(t *testing.T, backend netio.Backend, p *publisher) netio.Endpoint {
	t.Helper()
	must(t, backend.OpenEndpoint(p.Addr(), netio.Params{}))
	return <-h.eps
}

func send(t *testing.T, ep netio.Endpoint, m subscription.Message) {
	t.Helper()
	must(t, ep.SendCopy(0, nil, control(t, m)))
}

// setOf returns the binary form of the set of a few tags.
func setOf(t *testing.T, list ...tags.Tag) []byte {
	t.Helper()
	b, err := tags.Of(list...).MarshalBinary()
	must(t, err)
	return b
}

// Each limit asks for ticks a little closer together than the last one. Each of them
// restarted the tick, which therefore never came.
func TestPublisher_limitsThatShrinkDoNotMoveTheTickBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t)
		p := b.publisher(bus.PublisherConfig{Tags: tags.Of(1)})
		honest := b.subscriber(bus.SubscriberConfig{})
		subscribe(t, honest, tags.Of(1), ignore)
		h := newHand()
		backend, _ := b.stranger(h)
		var ep netio.Endpoint
		for i := range 100 { // 20 s
			if i%16 == 0 {
				if ep != nil {
					must(t, ep.Close())
					synctest.Wait()
				}
				h.answer = [][]byte{hello(t, subscription.Hello{Instance: fmt.Sprintf("x%d", i), MaxMessageBytes: 1 << 30})}
				ep = h.connect(t, backend, p)
			}
			send(t, ep, &subscription.Subscribe{
				ID: uint64(i + 1), Lane: uint16(i % 16), Set: setOf(t, 1),
				Policy: fmt.Sprintf("disconnect:%dms", 1990-i),
			})
			time.Sleep(200 * time.Millisecond)
		}
		synctest.Wait()
		if lost := honest.of(bus.Lost); len(lost) > 0 {
			t.Errorf("the honest subscriber: got %v, want nothing lost", lost)
		}
	})
}
