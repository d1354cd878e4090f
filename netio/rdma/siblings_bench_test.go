// SPDX-License-Identifier: Apache-2.0

//go:build libfabric && cgo

package rdma_test

import (
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"tagbus/internal/testkit/backendtest"
	"tagbus/netio"
	"tagbus/netio/rdma"
	"tagbus/netio/reactor"
)

// fountain is a backend that sends as much as its connections take.
type fountain struct {
	netio.NopHandler
	data    []byte
	running atomic.Bool
	on      chan netio.Endpoint
}

const fountainSends = 4 // under way on each connection

func (f *fountain) OnConnectionEstablished(ep netio.Endpoint) { f.on <- ep }

func (f *fountain) OnSendCompleted(c netio.Completion) {
	if f.running.Load() {
		_ = c.Endpoint.Send(0, nil, f.data) // fails when the benchmark has ended
	}
}

// drain throws away what comes.
type drain struct {
	netio.NopHandler
	bytes *atomic.Int64
}

func (d drain) OnData(_ netio.Endpoint, data []byte) { d.bytes.Add(int64(len(data))) }

// newFountain connects a fountain to drains, each a backend on a loop of its own.
func newFountain(b *testing.B, provider string, loops, conns int, drained *atomic.Int64) (*fountain, []netio.Endpoint) {
	b.Helper()
	const size = 128 << 10
	f := &fountain{data: newRegion(b, size), on: make(chan netio.Endpoint, conns)}
	cfg := rdma.Config{Provider: provider}
	backend, _ := backendtest.Open(b, reactor.Config{}, f, onLoops(b, cfg, loops))
	l, err := backend.OpenListenEndpoint(loopback(), netio.Params{ZeroCopy: netio.ZeroCopyParams{Outstanding: fountainSends, Region: f.data}})
	if err != nil {
		b.Fatalf("OpenListenEndpoint: got error %v, want none", err)
	}
	var eps []netio.Endpoint
	for range conns {
		if err := openBackend(b, drain{bytes: drained}, cfg).OpenEndpoint(l.Addr(), netio.Params{Receive: netio.ReceiveParams{MaxMessageBytes: size}}); err != nil {
			b.Fatalf("OpenEndpoint: got error %v, want none", err)
		}
		eps = append(eps, next(b, "OnConnectionEstablished", f.on))
	}
	return f, eps
}

// rate returns the bytes per second of one more second.
func (f *fountain) rate(eps []netio.Endpoint, drained *atomic.Int64) float64 {
	f.running.Store(true)
	for _, ep := range eps {
		for range fountainSends {
			_ = ep.Send(0, nil, f.data) // there may still be some under way
		}
	}
	start, before := time.Now(), drained.Load()
	<-time.After(time.Second)
	rate := float64(drained.Load()-before) / time.Since(start).Seconds()
	f.running.Store(false)
	return rate
}

// BenchmarkLoops sends on four connections with one loop, and with two that share
// them, in turn. One op is a second of each. ratio: how many times as much two send. The drains need as
// many processors again.
func BenchmarkLoops(b *testing.B) {
	for _, provider := range []string{provider(), rdma.ProviderNet} {
		b.Run(provider, func(b *testing.B) {
			const conns = 4
			var drained [2]atomic.Int64
			var fountains [2]*fountain
			var eps [2][]netio.Endpoint
			for i := range fountains {
				fountains[i], eps[i] = newFountain(b, provider, 2*i, conns, &drained[i])
			}
			var sum [2]float64
			b.ResetTimer()
			for range b.N {
				for i, f := range fountains {
					sum[i] += f.rate(eps[i], &drained[i])
				}
			}
			for i, name := range []string{"one", "two"} {
				b.ReportMetric(sum[i]/float64(b.N)/1e9, fmt.Sprintf("%s-GB/s", name))
			}
			b.ReportMetric(sum[1]/sum[0], "ratio")
		})
	}
}
