// SPDX-License-Identifier: Apache-2.0

package bus_test

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"tagbus/bus"
	"tagbus/netio"
	"tagbus/subscription"
	"tagbus/tags"
)

// TestPublisher_theBudgetOfThePool is the formula of docs/architecture.md: QueueBytes for each
// policy of each stalled subscriber, a page for each stream, and the need of the
// subscribers that do not stall. With that much, stalled subscribers hold up no other.
func TestPublisher_theBudgetOfThePool(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const (
			subscribers = 3
			policies    = 2 // of each
			queue       = 8 << 10
			page        = 1 << 10
			streams     = subscribers*policies + 1
		)
		b := newBed(t)
		p := b.publisher(bus.PublisherConfig{
			Tags: tagRange(t, 0, subscribers*policies), Sending: bus.Sending{
				PageBytes: page, MaxMessageBytes: 1000, QueueBytes: queue,
				PoolBytes: subscribers*policies*queue + streams*page + queue,
			}, MaxStreams: streams,
		})
		c := newCollector()
		subscribe(t, b.subscriber(bus.SubscriberConfig{}), tags.Of(0), c.handle)
		for i := range subscribers {
			s := b.subscriber(bus.SubscriberConfig{})
			for j, policy := range [policies]bus.Policy{{}, {Kind: bus.Disconnect, After: time.Hour}} {
				sub, err := s.SubscribeWith(tags.Of(tags.Tag(1+policies*i+j)), ignore, bus.SubscriptionConfig{Policy: policy})
				must(t, err)
				must(t, sub.Wait(t.Context()))
			}
			b.stall(s.host)
		}
		for tag := tags.Tag(1); tag <= subscribers*policies; tag++ {
			for p.Publish(tag, make([]byte, 900)) == nil {
				synctest.Wait()
			}
		}
		if st := p.Stats(); st.Pages-st.PagesFree != subscribers*policies*queue/page {
			t.Fatalf("the stalled hold %d pages, want %d", st.Pages-st.PagesFree, subscribers*policies*queue/page)
		}
		for range 1000 {
			must(t, p.Publish(0, make([]byte, 900)))
			synctest.Wait()
		}
		p.Flush()
		if synctest.Wait(); c.count() != 1000 {
			t.Errorf("got %d messages, want 1000", c.count())
		}
	})
}

// impatient is a stranger that asks for something at a moment that the test chooses.
type impatient struct {
	stranger
	ep netio.Endpoint
}

func (x *impatient) OnConnectionEstablished(ep netio.Endpoint) {
	x.ep = ep
	x.stranger.OnConnectionEstablished(ep)
}

// TestPublisher_controlIsNotBehindData: what belongs to the connection, as a beat or a
// refusal, passes all pages that wait in the publisher.
func TestPublisher_controlIsNotBehindData(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t)
		const pages = 32
		p := b.publisher(bus.PublisherConfig{
			Tags: tags.Of(5), Sending: bus.Sending{PageBytes: 1024, MaxMessageBytes: 1000, QueueBytes: pages << 10, Policies: []bus.PolicyKind{bus.Block}},
		})
		five, err := tags.Of(5).MarshalBinary()
		must(t, err)
		x := &impatient{stranger: stranger{answer: [][]byte{
			hello(t, subscription.Hello{Instance: "x", MaxMessageBytes: 1 << 20}),
			control(t, &subscription.Subscribe{ID: 1, Set: five}),
		}}}
		backend, host := b.stranger(x)
		must(t, backend.OpenEndpoint(p.Addr(), netio.Params{}))
		synctest.Wait()
		b.stall(host)
		for err = nil; err == nil; synctest.Wait() {
			err = p.Publish(5, make([]byte, 900))
		}
		if !errors.Is(err, bus.ErrNoResources) {
			t.Fatal(err)
		}
		must(t, x.ep.SendCopy(0, nil, control(t, &subscription.Subscribe{ID: 2, Set: five, Lane: 1, Policy: "latest"})))
		synctest.Wait()
		b.net.Resume(anybody, anyPort(host))
		b.net.SetWindow(anybody, anyPort(host), 1<<20)
		synctest.Wait()
		x.mu.Lock()
		defer x.mu.Unlock()
		before, after := 0, 0
		for _, data := range x.got {
			switch {
			case data[0] == byte(subscription.KindRefused):
				before, after = after, 0
			case data[0] == byte(subscription.KindPage):
				after++
			}
		}
		if before == 0 || before > 5 || before+after < pages {
			t.Errorf("the refusal came behind %d and before %d pages, want behind the few that were under way, of %d at least", before, after, pages)
		}
	})
}
