// SPDX-License-Identifier: Apache-2.0

package bus_test

import (
	"testing"
	"testing/synctest"
	"time"

	"tagbus/bus"
	"tagbus/tags"
)

// A link that is down for ten seconds costs nothing if the queue holds as many bytes as
// are published meanwhile: small messages at a low rate, each nearly a page of its own. A
// second subscriber on a good link has every page sealed in time.
func TestPublisher_aSlowStreamOfSmallMessagesOutlastsADeadLink(t *testing.T) {
	for _, policy := range []bus.Policy{{}, {Kind: bus.DropNewest}, {Kind: bus.DropOldest}} {
		for name, others := range map[string]int{"alone": 0, "beside a fast one": 1} {
			t.Run(policy.String()+" "+name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					const rate, size, down = 1000, 64, 10 * time.Second
					b := newBed(t)
					p := b.publisher(bus.PublisherConfig{Tags: tags.Of(1), Common: bus.Common{HeartbeatTimeout: time.Hour}})
					for range others {
						subscribe(t, b.subscriber(bus.SubscriberConfig{}), tags.Of(1), ignore)
					}
					s, c := b.subscriber(bus.SubscriberConfig{Common: bus.Common{HeartbeatTimeout: time.Hour}}), newCollector()
					sub, err := s.SubscribeWith(tags.Of(1), c.handle, bus.SubscriptionConfig{Policy: policy})
					must(t, err)
					must(t, sub.Wait(t.Context()))
					b.stall(s.host)
					for range int(down / time.Second * rate) {
						must(t, p.Publish(1, make([]byte, size)))
						time.Sleep(time.Second / rate)
					}
					b.net.SetWindow(anybody, anyPort(s.host), 1<<20)
					b.net.Resume(anybody, anyPort(s.host))
					must(t, p.Drain(t.Context()))
					synctest.Wait()
					if got, want := c.count(), int(down/time.Second*rate); got != want || s.Stats().Lost > 0 {
						t.Errorf("got %d of %d messages, lost %d", got, want, s.Stats().Lost)
					}
					if st := p.Stats(); st.Refusals > 0 || st.PagesFree != st.Pages {
						t.Errorf("%d refusals; %d of %d pages are free", st.Refusals, st.PagesFree, st.Pages)
					}
				})
			})
		}
	}
}
