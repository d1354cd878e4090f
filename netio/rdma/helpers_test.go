// SPDX-License-Identifier: Apache-2.0

//go:build libfabric && cgo

package rdma_test

import (
	"testing"

	"tagbus/internal/testkit/backendtest"
	"tagbus/netio"
	"tagbus/netio/rdma"
)

// What the tests use most, by short names.
type watcher = backendtest.Watcher

var (
	newWatcher = backendtest.NewWatcher
	onLoop     = backendtest.OnLoop
	waitFor    = backendtest.WaitFor
)

func next[T any](tb testing.TB, what string, events <-chan T) T {
	tb.Helper()
	return backendtest.Next(tb, what, events)
}

// served is a backend that listens, and what it hears.
type served struct {
	*watcher
	b netio.Backend
	l netio.ListenEndpoint

	dialed netio.Backend // that dial has opened last
}

func serve(tb testing.TB, w *watcher, cfg rdma.Config, p netio.Params) *served {
	tb.Helper()
	cfg.Provider = provider()
	b := openBackend(tb, w, cfg)
	l, err := b.OpenListenEndpoint(loopback(), p)
	if err != nil {
		tb.Fatalf("OpenListenEndpoint: got error %v, want none", err)
	}
	return &served{watcher: w, b: b, l: l}
}

// newRegion returns memory to send from, until the end of the test.
func newRegion(tb testing.TB, n int) []byte {
	tb.Helper()
	region, err := netio.AllocRegion(n)
	if err != nil {
		tb.Fatalf("AllocRegion: got error %v, want none", err)
	}
	tb.Cleanup(func() { _ = netio.FreeRegion(region) })
	return region
}

// dial opens an endpoint to s from a backend of its own, and returns it with the
// other end.
func (s *served) dial(tb testing.TB, w *watcher, cfg rdma.Config, p netio.Params) (opened, accepted netio.Endpoint) {
	tb.Helper()
	cfg.Provider = provider()
	s.dialed = openBackend(tb, w, cfg)
	if err := s.dialed.OpenEndpoint(s.l.Addr(), p); err != nil {
		tb.Fatalf("OpenEndpoint: got error %v, want none", err)
	}
	return next(tb, "OnConnectionEstablished", w.Established), next(tb, "OnConnectionEstablished", s.Established)
}
