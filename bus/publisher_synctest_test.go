// SPDX-License-Identifier: Apache-2.0

package bus_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"tagbus/bus"
	"tagbus/tags"
)

// collector records what a handler receives, per tag.
type collector struct {
	mu   sync.Mutex
	data map[tags.Tag][]string
	last map[tags.Tag]uint64
	bad  []string
}

func newCollector() *collector {
	return &collector{data: make(map[tags.Tag][]string), last: make(map[tags.Tag]uint64)}
}

func (c *collector) handle(m bus.Message) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.data[m.Tag] = append(c.data[m.Tag], string(m.Data))
	if last, ok := c.last[m.Tag]; ok && m.Counter != last+1 {
		c.bad = append(c.bad, fmt.Sprintf("tag %v: counter %d after %d", m.Tag, m.Counter, last))
	}
	c.last[m.Tag] = m.Counter
}

func (c *collector) count() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := 0
	for _, d := range c.data {
		n += len(d)
	}
	return n
}

// subscribe subscribes and waits for the acknowledgement.
func subscribe(tb testing.TB, s *subscriber, set tags.Set, h bus.Handler) *bus.Subscription {
	tb.Helper()
	sub, err := s.Subscribe(set, h)
	must(tb, err)
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	must(tb, sub.Wait(ctx))
	return sub
}

func TestPublisher_sendsAPageWhenItIsFullOrDue(t *testing.T) {
	tests := []struct {
		name     string
		interval time.Duration
		messages int
		flush    bool
		want     time.Duration
	}{
		{"a lone message waits for the flush interval", 3 * time.Millisecond, 1, false, 3 * time.Millisecond},
		{"the interval counts from the first message", 3 * time.Millisecond, 3, false, 3 * time.Millisecond},
		{"flush sends at once", 3 * time.Millisecond, 1, true, 0},
		{"a full page is sent at once", 3 * time.Millisecond, 7, false, 0},
		{"by default a lone message waits for nothing", 0, 1, false, 0},
		{"by default the first of a burst waits for nothing", 0, 3, false, 0},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBed(t)
				p := b.publisher(bus.PublisherConfig{Tags: tags.Of(1), Sending: bus.Sending{PageBytes: 256, FlushInterval: test.interval}})
				s := b.subscriber(bus.SubscriberConfig{})
				var arrived time.Time
				subscribe(t, s, tags.Of(1), func(bus.Message) {
					if arrived.IsZero() {
						arrived = time.Now()
					}
				})
				start := time.Now()
				for range test.messages {
					must(t, p.Publish(1, make([]byte, 40)))
				}
				if test.flush {
					p.Flush()
				}
				time.Sleep(time.Second)
				synctest.Wait()
				if got := arrived.Sub(start); got != test.want {
					t.Errorf("first message arrived after %v, want %v", got, test.want)
				}
			})
		})
	}
}

func TestPublisher_Publish_aFullSubscriberRefusesForEverybody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t)
		ready := 0
		p := b.publisher(bus.PublisherConfig{
			Tags: tags.Of(1, 2), Sending: bus.Sending{
				PageBytes: 1024, QueueBytes: 4096, MaxMessageBytes: 2048,
				OnReady: func() { ready++ },
			},
		})
		slow, quick := b.subscriber(bus.SubscriberConfig{}), b.subscriber(bus.SubscriberConfig{})
		fromSlow, fromQuick := newCollector(), newCollector()
		subscribe(t, slow, tags.Of(1), fromSlow.handle)
		subscribe(t, quick, tags.Of(1, 2), fromQuick.handle)
		b.net.SetWindow(netip.AddrPort{}, netip.AddrPortFrom(slow.host, 0), 2048)
		b.net.Stall(netip.AddrPort{}, netip.AddrPortFrom(slow.host, 0))

		// Fill the stalled subscriber, with time for the other one.
		accepted := 0
		for refused := false; !refused; synctest.Wait() {
			refused = true
			for ; ; accepted++ {
				err := p.Publish(1, []byte(fmt.Sprint(accepted, strings.Repeat("x", 100))))
				if errors.Is(err, bus.ErrNoResources) {
					break
				}
				must(t, err)
				refused = false
			}
		}
		for i := range 1000 { // another tag does not care
			if err := p.Publish(2, []byte(fmt.Sprint(i))); err != nil {
				t.Fatalf("publish to others: got %v", err)
			}
			if i%50 == 0 {
				synctest.Wait()
			}
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := p.PublishContext(ctx, 1, make([]byte, 2000)); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("publish with a deadline: got %v, want DeadlineExceeded", err)
		}
		synctest.Wait()
		ready = 0
		b.net.Resume(netip.AddrPort{}, netip.AddrPortFrom(slow.host, 0))
		synctest.Wait()
		if ready == 0 {
			t.Error("not told of room")
		}
		must(t, p.PublishContext(t.Context(), 1, []byte("last")))
		must(t, p.Drain(t.Context()))
		synctest.Wait()
		if d := cmp.Diff(fromQuick.data[1], fromSlow.data[1]); d != "" {
			t.Errorf("the subscribers differ (-quick +slow):\n%s", d)
		}
		if got := len(fromSlow.data[1]); got != accepted+1 {
			t.Errorf("slow subscriber: got %d messages, want %d", got, accepted+1)
		}
		if len(fromSlow.bad)+len(fromQuick.bad) > 0 || len(fromQuick.data[2]) != 1000 {
			t.Errorf("counters: %v %v, tag 2: %d", fromSlow.bad, fromQuick.bad, len(fromQuick.data[2]))
		}
	})
}

func TestPublisher_aMessageLargerThanAPageArrivesWhole(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t)
		p := b.publisher(bus.PublisherConfig{Tags: tags.Of(1), Sending: bus.Sending{PageBytes: 4096, MaxMessageBytes: 100_000}})
		s := b.subscriber(bus.SubscriberConfig{})
		c := newCollector()
		subscribe(t, s, tags.Of(1), c.handle)
		var want []string
		for _, n := range []int{1, 4070, 4075, 4076, 4083, 4084, 4085, 7200, 8192, 3, 100_000, 0} {
			data := bytes.Repeat([]byte{byte(n)}, n)
			want = append(want, string(data))
			must(t, p.PublishContext(t.Context(), 1, data))
		}
		err := p.Publish(1, make([]byte, 100_001))
		if !errors.Is(err, bus.ErrMessageTooLarge) || !strings.Contains(err.Error(), "raise PublisherConfig.MaxMessageBytes") {
			t.Errorf("above the limit: got %v", err)
		}
		must(t, p.Drain(t.Context()))
		synctest.Wait()
		if d := cmp.Diff(want, c.data[1]); d != "" {
			t.Errorf("(-want +got):\n%s", d)
		}
	})
}

func TestPublisher_Publish_refusesATagThatIsNotThePublishers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newBed(t).publisher(bus.PublisherConfig{Tags: tags.Of(1)})
		err := p.Publish(2, nil)
		var pe *bus.PublishError
		if !errors.As(err, &pe) || pe.Tag != 2 || !errors.Is(err, bus.ErrUnknownTag) {
			t.Errorf("got %v", err)
		}
	})
}

func TestPublisher_Publish_everyGoroutineMay(t *testing.T) {
	b := newBed(t)
	p := b.publisher(bus.PublisherConfig{Tags: tags.Of(0, 1, 2, 3, 4), Sending: bus.Sending{PageBytes: 1024, QueueBytes: 8192, MaxMessageBytes: 1024}})
	s := b.subscriber(bus.SubscriberConfig{})
	c := newCollector()
	subscribe(t, s, tags.Of(0, 1, 2, 3), c.handle)
	const each = 2000
	var wg sync.WaitGroup
	for g := range 8 {
		wg.Go(func() {
			for i := range each {
				for _, tag := range []tags.Tag{tags.Tag(g % 4), 4} {
					if err := p.PublishContext(context.Background(), tag, []byte(fmt.Sprintf("%d:%d", g, i))); err != nil {
						t.Error(err)
						return
					}
				}
			}
		})
	}
	wg.Wait()
	must(t, p.Drain(t.Context()))
	for tag, data := range c.data {
		next := make(map[int]int)
		for _, d := range data {
			var g, i int
			if _, err := fmt.Sscanf(d, "%d:%d", &g, &i); err != nil {
				t.Fatal(err)
			}
			if i != next[g] {
				t.Fatalf("tag %v, goroutine %d: got message %d, want %d", tag, g, i, next[g])
			}
			next[g]++
		}
	}
	if got := c.count(); got != 8*each || len(c.bad) > 0 {
		t.Errorf("got %d messages, want %d; %v", got, 8*each, c.bad)
	}
}
