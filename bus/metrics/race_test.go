// SPDX-License-Identifier: Apache-2.0

package metrics_test

import (
	"context"
	"sync"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"tagbus/bus"
	"tagbus/bus/metrics"
	"tagbus/tags"
)

// TestScrapingABusyBus scrapes while messages are published and subscribers come
// and go. It is for the race detector; totals must not fall either.
func TestScrapingABusyBus(t *testing.T) {
	b := newBed(t)
	p, stop := b.publisher(bus.PublisherConfig{Tags: tags.Of(1, 2), Sending: bus.Sending{PageBytes: 4096, MaxMessageBytes: 4000}})
	defer stop()
	s, leave := b.subscriber("steady", tags.Of(1))
	defer leave()
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(metrics.OfPublisher(p.Stats), metrics.OfSubscriber(s.Stats))

	var working sync.WaitGroup
	for _, tag := range []tags.Tag{1, 2} {
		working.Go(func() {
			for range 5000 {
				if err := p.PublishContext(context.Background(), tag, make([]byte, 40)); err != nil {
					t.Errorf("publish: %v", err)
					return
				}
			}
		})
	}
	done := make(chan struct{})
	var scraping sync.WaitGroup
	for range 2 {
		scraping.Go(func() {
			last := make(map[string]float64)
			for running := true; running; {
				select {
				case <-done:
					running = false // once more, for the end
				default:
				}
				scrape(t, registry, last)
			}
			if got := last["tagbus_publisher_messages_total"]; got != 10000 {
				t.Errorf("got %v messages at the end, want 10000", got)
			}
		})
	}
	for range 20 {
		_, leave := b.subscriber("passing", tags.Of(2))
		leave()
	}
	working.Wait()
	close(done)
	scraping.Wait()
}

// scrape gathers all metrics and compares the totals without labels with the
// last ones.
func scrape(t *testing.T, g prometheus.Gatherer, last map[string]float64) {
	t.Helper()
	families, err := g.Gather()
	if err != nil {
		t.Errorf("scrape: %v", err)
	}
	for _, f := range families {
		m := f.GetMetric()[0]
		if m.GetCounter() == nil || len(m.GetLabel()) > 0 {
			continue
		}
		if got := m.GetCounter().GetValue(); got < last[f.GetName()] {
			t.Errorf("%s: got %v after %v", f.GetName(), got, last[f.GetName()])
		} else {
			last[f.GetName()] = got
		}
	}
}
