// SPDX-License-Identifier: Apache-2.0

package bus_test

import (
	"testing"
	"testing/synctest"
	"time"

	"tagbus/bus"
	"tagbus/netio"
	"tagbus/subscription"
	"tagbus/tags"
)

// lateHandler hears of the end of its first connection a second late, as with a
// transport whose operations take long to be cancelled.
type lateHandler struct {
	netio.Handler
	loop netio.Loop
	late bool // the first has ended; loop only
}

func (h *lateHandler) OnConnectionClosed(ep netio.Endpoint, keys []netio.Key, cause error) {
	if h.late {
		h.Handler.OnConnectionClosed(ep, keys, cause)
		return
	}
	h.late = true
	time.AfterFunc(time.Second, func() {
		h.loop.Post(func() { h.Handler.OnConnectionClosed(ep, keys, cause) })
	})
}

// late is bed.openPublisher with a lateHandler.
func (b *bed) late(cfg bus.PublisherConfig) (*bus.Publisher, *member) {
	b.tb.Helper()
	m := b.member()
	open := b.opener(m)
	cfg.Listen, cfg.OnEvent = anyPort(m.host), m.note
	p, err := bus.NewPublisher(func(h netio.Handler) (netio.Backend, error) {
		return open(&lateHandler{Handler: h, loop: m.loop})
	}, b.dir, cfg)
	must(b.tb, err)
	b.tb.Cleanup(func() {
		must(b.tb, p.Close())
		m.loop.Close()
	})
	return p, m
}

// The totals that a subscriber reports on its new connection were compared with its
// account before the older connection had ended: its messages were unconfirmed for ever.
func TestPublisher_endsAnOlderConnectionBeforeTheSubscriberSpeaks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t)
		p, m := b.late(bus.PublisherConfig{Tags: tags.Of(1)})
		first := accountStranger(t)
		second := accountStranger(t, &subscription.Received{Lane: 1, Messages: 20})
		for _, x := range []*stranger{first, second} {
			backend, _ := b.stranger(x)
			must(t, backend.OpenEndpoint(p.Addr(), netio.Params{}))
			synctest.Wait()
			if x == first {
				for range 30 {
					must(t, p.Publish(1, nil))
				}
				p.Flush()
				synctest.Wait()
			}
		}
		time.Sleep(10 * time.Second)
		lane := laneOf(t, p.Stats(), "twin")
		if lane.Unconfirmed != 0 || lane.Sent != 20 {
			t.Errorf("got %d unconfirmed and %d sent, want none and 20; events %v", lane.Unconfirmed, lane.Sent, m.events)
		}
		wantEvent(t, m, "the subscriber has connected again")
	})
}

// A subscriber that gives up while its older connection ends is let go.
func TestPublisher_aSubscriberMayLeaveWhileItsOlderConnectionEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t)
		p, m := b.late(bus.PublisherConfig{Tags: tags.Of(1)})
		for range 3 {
			x := accountStranger(t)
			backend, _ := b.stranger(x)
			must(t, backend.OpenEndpoint(p.Addr(), netio.Params{}))
			synctest.Wait()
		}
		b.net.Reset(p.Addr(), anybody)
		time.Sleep(10 * time.Second)
		if st := p.Stats(); len(st.Subscribers) != 0 || len(st.Gone) != 1 {
			t.Errorf("got %d subscribers and %d gone, want none and one; events %v", len(st.Subscribers), len(st.Gone), m.events)
		}
	})
}

// An older connection that had not subscribed yet stayed beside the new one: it could
// subscribe later, and become the one to which the account belongs.
func TestPublisher_endsAnOlderConnectionThatHasNotSubscribed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t)
		p := b.publisher(bus.PublisherConfig{Tags: tags.Of(1)})
		twin := hello(t, subscription.Hello{Instance: "twin", MaxMessageBytes: 1 << 30})
		set, err := tags.Of(1).MarshalBinary()
		must(t, err)
		first := &stranger{answer: [][]byte{twin}}
		second := &stranger{answer: [][]byte{twin, control(t, &subscription.Subscribe{ID: 1, Set: set})}}
		for _, x := range []*stranger{first, second} {
			backend, _ := b.stranger(x)
			must(t, backend.OpenEndpoint(p.Addr(), netio.Params{}))
			synctest.Wait()
		}
		if n := len(p.Stats().Subscribers); first.closed != 1 || second.closed != 0 || n != 1 {
			t.Errorf("got %d and %d ends and %d subscribers, want the end of the first; events %v", first.closed, second.closed, n, p.events)
		}
		wantEvent(t, p.member, "the subscriber has connected again")
	})
}

// Each connection of an instance waited for all before it, and each end of one woke all
// others: the work for a peer that connected again and again grew with the square of its
// connections. Only the newest one waits now.
func TestPublisher_onlyTheNewestConnectionWaitsForAnOlderOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t)
		p, m := b.late(bus.PublisherConfig{Tags: tags.Of(1)})
		var all []*stranger
		connect := func() {
			x := accountStranger(t)
			backend, _ := b.stranger(x)
			must(t, backend.OpenEndpoint(p.Addr(), netio.Params{}))
			synctest.Wait()
			all = append(all, x)
		}
		for range 20 {
			connect()
		}
		last := len(all) - 1
		for i, x := range all {
			if x.ended() != (i < last) {
				t.Errorf("connection %d of %d: got the end %v while the first is ending", i, len(all), x.ended())
			}
		}
		all[last].mu.Lock()
		must(t, all[last].ep.Close()) // it gives up, and the next one still waits for the first
		all[last].mu.Unlock()
		synctest.Wait()
		connect()
		if got := all[last+1].answers(); got != 0 {
			t.Errorf("got %d answers before the first connection has ended, want none", got)
		}
		time.Sleep(10 * time.Second)
		synctest.Wait()
		if st := p.Stats(); len(st.Subscribers) != 1 || all[last+1].ended() || all[last+1].answers() == 0 {
			t.Errorf("got %d subscribers, want the newest; events %v", len(st.Subscribers), m.events)
		}
	})
}
