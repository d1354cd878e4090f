// SPDX-License-Identifier: Apache-2.0

package metrics_test

import (
	"fmt"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"tagbus/bus"
	"tagbus/bus/metrics"
)

// TestTheWorkOfAScrapeIsProportional: twice as many subscribers, or lanes, are at most
// 2.3 times the work.
func TestTheWorkOfAScrapeIsProportional(t *testing.T) {
	cost := func(subscribers, lanes int) float64 {
		var stats bus.PublisherStats
		for i := range subscribers {
			s := bus.SubscriberState{Peer: bus.Peer{Instance: fmt.Sprint("instance ", i)}}
			for n := range lanes {
				s.Lanes = append(s.Lanes, bus.LaneState{ID: uint64(n + 1), Policy: bus.Policy{Kind: bus.Sample, Every: uint64(n + 1)}})
			}
			stats.Subscribers = append(stats.Subscribers, s)
		}
		registry := prometheus.NewRegistry()
		registry.MustRegister(metrics.OfPublisher(func() bus.PublisherStats { return stats }))
		return testing.AllocsPerRun(3, func() {
			if _, err := registry.Gather(); err != nil {
				t.Fatal(err)
			}
		})
	}
	one := cost(100, 4)
	for _, test := range []struct {
		name   string
		allocs float64
	}{
		{"subscribers", cost(200, 4)},
		{"lanes", cost(100, 8)},
	} {
		if test.allocs > 2.3*one {
			t.Errorf("twice as many %s: got %v allocations after %v, want at most 2.3 times as many", test.name, test.allocs, one)
		}
	}
}
