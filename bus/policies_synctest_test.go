// SPDX-License-Identifier: Apache-2.0

package bus_test

import (
	"errors"
	"net/netip"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"tagbus/bus"
	"tagbus/netio"
	"tagbus/tags"
)

// TestPublisher_aRecorderAndAMonitorDoNotFeelEachOther: on the same tags of the same
// publisher, one loses nothing and the other keeps what its policy says, while
// it takes nothing.
func TestPublisher_aRecorderAndAMonitorDoNotFeelEachOther(t *testing.T) {
	const n = 300 // of each tag
	tests := []struct {
		policy string
		keeps  func(counters []uint64) bool
	}{
		{"drop-newest", func(c []uint64) bool { return slices.Equal(c, counters(1, uint64(len(c)))) }},
		{"drop-oldest", func(c []uint64) bool {
			newest := c[len(c)/2:] // behind what was under way
			return slices.Equal(newest, counters(newest[0], n))
		}},
		{"latest", func(c []uint64) bool { return c[len(c)-1] == n && len(c) < 20 }},
		{"sample:3", func(c []uint64) bool {
			return !slices.ContainsFunc(c, func(counter uint64) bool { return counter%3 != 1 })
		}},
	}
	for _, test := range tests {
		t.Run(test.policy, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBed(t)
				p := b.publisher(bus.PublisherConfig{Tags: tags.Of(1, 2), Sending: bus.Sending{PageBytes: 1024, MaxMessageBytes: 1000, QueueBytes: 16 << 10}})
				record, watch := newCollector(), newCollector()
				subscribe(t, b.subscriber(bus.SubscriberConfig{}), tags.Of(1, 2), record.handle)
				monitor := b.subscriber(bus.SubscriberConfig{})
				policy, err := bus.ParsePolicy(test.policy)
				must(t, err)
				got := make(map[tags.Tag][]uint64)
				sub, err := monitor.SubscribeWith(tags.Of(1, 2), func(m bus.Message) {
					got[m.Tag] = append(got[m.Tag], m.Counter)
					watch.handle(m)
				}, bus.SubscriptionConfig{Policy: policy})
				must(t, err)
				must(t, sub.Wait(t.Context()))
				b.stall(monitor.host)
				for range n {
					must(t, p.Publish(1, make([]byte, 400)))
					must(t, p.Publish(2, make([]byte, 400)))
					synctest.Wait()
				}
				time.Sleep(time.Second) // the last page
				b.net.SetWindow(anybody, anyPort(monitor.host), 1<<20)
				b.net.Resume(anybody, anyPort(monitor.host))
				time.Sleep(2 * time.Second)
				synctest.Wait()
				for tag := tags.Tag(1); tag <= 2; tag++ {
					if len(record.data[tag]) != n || len(record.bad) > 0 {
						t.Errorf("the recorder has %d messages of tag %v, want %d: %v", len(record.data[tag]), tag, n, record.bad)
					}
					if len(got[tag]) == 0 || len(got[tag]) == n || !test.keeps(got[tag]) {
						t.Errorf("the monitor has %v of tag %v", got[tag], tag)
					}
				}
				if st := p.Stats(); st.Refusals > 0 {
					t.Errorf("the publisher was held up %d times", st.Refusals)
				}
			})
		})
	}
	t.Run("and the recorder takes nothing", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			b := newBed(t)
			p := b.publisher(bus.PublisherConfig{Tags: tags.Of(1), Sending: bus.Sending{PageBytes: 1024, MaxMessageBytes: 1000, QueueBytes: 16 << 10}})
			recorder, monitor := b.subscriber(bus.SubscriberConfig{}), b.subscriber(bus.SubscriberConfig{})
			subscribe(t, recorder, tags.Of(1), ignore)
			watch := newCollector()
			sub, err := monitor.SubscribeWith(tags.Of(1), watch.handle, bus.SubscriptionConfig{Policy: bus.Policy{Kind: bus.DropNewest}})
			must(t, err)
			must(t, sub.Wait(t.Context()))
			b.stall(recorder.host)
			accepted := 0
			for range 200 {
				err := p.Publish(1, make([]byte, 400))
				if err == nil {
					accepted++
				} else if !errors.Is(err, bus.ErrNoResources) {
					t.Fatal(err)
				}
				synctest.Wait()
			}
			time.Sleep(time.Second)
			if synctest.Wait(); accepted == 200 || watch.count() != accepted || len(monitor.of(bus.Gap)) > 0 {
				t.Errorf("accepted %d of 200, and the monitor has %d and gaps %v: want all that was accepted for both", accepted, watch.count(), monitor.of(bus.Gap))
			}
		})
	})
}

// dialLog notes when connections are refused.
type dialLog struct {
	netio.Handler
	at *[]time.Duration
	t0 time.Time
}

func (h dialLog) OnConnectionRefused(addr netip.AddrPort, err error) {
	*h.at = append(*h.at, time.Since(h.t0))
	h.Handler.OnConnectionRefused(addr, err)
}

// TestSubscriber_reconnectingBacksOffWithJitter: the time between two tries grows up to a bound,
// and differs between subscribers that have lost the same publisher.
func TestSubscriber_reconnectingBacksOffWithJitter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t)
		p := b.publisher(bus.PublisherConfig{Tags: tags.Of(1)})
		b.net.Refuse(p.Addr())
		const lowest, highest = 100 * time.Millisecond, 4 * time.Second
		tries := make([][]time.Duration, 8)
		for i := range tries {
			m := b.member()
			open := b.opener(m)
			s, err := bus.NewSubscriber(func(h netio.Handler) (netio.Backend, error) {
				return open(dialLog{h, &tries[i], time.Now()})
			}, b.dir, bus.SubscriberConfig{Dialing: bus.Dialing{ReconnectMin: lowest, ReconnectMax: highest}})
			must(t, err)
			_, err = s.Subscribe(tags.Of(1), ignore)
			must(t, err)
			t.Cleanup(func() {
				must(t, s.Close())
				m.loop.Close()
			})
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		differ := false
		for _, at := range tries {
			var delays []time.Duration
			for i := range len(at) - 1 {
				delays = append(delays, at[i+1]-at[i])
			}
			if len(delays) < 10 || slices.Min(delays) < lowest || slices.Max(delays) > highest+time.Millisecond || delays[0] > 2*lowest || delays[9] < 10*lowest {
				t.Errorf("got delays %v, want growing ones of %v to %v", delays, lowest, highest)
			}
			differ = differ || !slices.Equal(at, tries[0])
		}
		if !differ {
			t.Errorf("all try at the same times: %v", tries[0])
		}
	})
}

// TestPublisher_Drain_leavesTheDirectoryFirst: no subscriber finds a publisher that is ending.
func TestPublisher_Drain_leavesTheDirectoryFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t)
		p := b.publisher(bus.PublisherConfig{Tags: tags.Of(1)})
		s := b.subscriber(bus.SubscriberConfig{})
		subscribe(t, s, tags.Of(1), ignore)
		b.net.Partition(anybody, anyPort(s.host)) // so that it lasts
		drained := make(chan error, 1)
		go func() { drained <- p.Drain(t.Context()) }()
		synctest.Wait()
		entries, err := b.dir.List()
		must(t, err)
		if len(entries) > 0 || len(drained) > 0 {
			t.Errorf("got entries %v and an end %v while it drains, want neither", entries, len(drained) > 0)
		}
		b.net.Heal(anybody, anyPort(s.host))
		must(t, <-drained)
	})
}
