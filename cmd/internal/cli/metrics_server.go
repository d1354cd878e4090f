// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"tagbus/bus/metrics"
	"tagbus/cmd/internal/httpserver"
	"tagbus/cmd/internal/stateapi"
	"tagbus/cmd/internal/web"
	"tagbus/internal/build"
)

// MetricsServer shows metrics to Prometheus and the state of the program to viewers while a
// command runs, and reports whether it works. A nil one does nothing.
//
// Threads: any.
type MetricsServer struct {
	registry *prometheus.Registry
	server   *httpserver.Server
	health   health
	process  *process
	page     *web.Page
	addr     netip.AddrPort
	ended    chan error // of Serve
}

const (
	// metricsIdle is how long a connection may wait for its next scrape.
	metricsIdle = 2 * time.Minute

	// metricsGrace is how long a scrape that has begun may take after the end.
	metricsGrace = 500 * time.Millisecond

	// maxScrapes is how many scrapes at once are answered; others are told to
	// come again.
	maxScrapes = 4

	// maxMetricsConnections is how many connections there are at most: those of all viewers,
	// and some for scrapes. All others of the process are for the bus.
	maxMetricsConnections = 2 * (web.MaxViewers + stateapi.MaxViewers)
)

// metricsTimeout bounds a request and its answer, so that strangers cannot hold connections for
// ever. Tests change it.
var metricsTimeout = 5 * time.Second

// ServeMetrics begins to serve metrics where --metrics says, and says where
// that is. They are those of the process and its build until Register adds others. Without
// the flag it returns nil. Close the server.
//
//   - program: its name.
//   - Errors: the system's, when it cannot listen there.
func (c *Common) ServeMetrics(program string, say func(format string, args ...any)) (*MetricsServer, error) {
	if c.Metrics == nil {
		return nil, nil
	}
	listener, err := net.Listen("tcp", c.Metrics.String())
	if err != nil {
		return nil, NameListen("--metrics", c.Metrics.AddrPort, err)
	}
	s := &MetricsServer{registry: prometheus.NewRegistry(), process: newProcess(program), ended: make(chan error, 1)}
	s.registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}), metrics.OfBuild(build.Release()))
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(s.registry, promhttp.HandlerOpts{
		// One bad metric is to cost no other; it is counted, among the metrics.
		ErrorHandling: promhttp.ContinueOnError, Registry: s.registry,
		MaxRequestsInFlight: maxScrapes,
	}))
	mux.Handle("GET /healthz", &s.health)
	api := stateapi.New(s.process.state)
	api.Register(mux)
	s.page = web.NewOfProcess(program, s.process.state)
	mux.Handle("/", s.page)
	s.server = httpserver.New(httpserver.Config{
		// Of all paths: what metrics say of a bus is not for the page of another site, either.
		Handler: stateapi.Guard(mux), Connections: maxMetricsConnections, Patience: metricsTimeout, Idle: metricsIdle,
	})
	s.server.RegisterOnShutdown(api.Close) // a viewer would never go by itself
	s.server.RegisterOnShutdown(s.page.Close)
	go func() { s.ended <- s.server.Serve(listener) }()
	s.addr = netip.AddrPortFrom(c.Metrics.Addr(), uint16(listener.Addr().(*net.TCPAddr).Port))
	say("metrics at http://%s/metrics", hostOf(listener.Addr().(*net.TCPAddr), c.Metrics.Addr().Zone()))
	return s, nil
}

// Addr returns where the server listens, with the real port, as Monitor of the
// configurations of the bus. It is the zero value of a nil one.
func (s *MetricsServer) Addr() netip.AddrPort {
	if s == nil {
		return netip.AddrPort{}
	}
	return s.addr
}

// hostOf returns addr as a URL names it. A listener does not say its zone.
func hostOf(addr *net.TCPAddr, zone string) string {
	if zone == "" {
		return addr.String()
	}
	return fmt.Sprintf("[%v%%25%s]:%d", addr.IP, url.PathEscape(zone), addr.Port)
}

// Register adds metrics to those that are served.
func (s *MetricsServer) Register(all ...prometheus.Collector) error {
	if s == nil {
		return nil
	}
	for _, c := range all {
		if err := s.registry.Register(c); err != nil {
			return err
		}
	}
	return nil
}

// Close ends the server and all its connections.
//
//   - Errors: what ended the server before, if something did.
//   - Blocks: until the scrapes that have begun are answered, half a second at
//     most; later ones are cut off.
func (s *MetricsServer) Close() error {
	if s == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), metricsGrace)
	defer cancel()
	if err := s.server.Shutdown(ctx); err != nil {
		_ = s.server.Close() // it returns what closing the listener did
	}
	s.page.Close()
	if err := <-s.ended; !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("--metrics: %w", err)
	}
	return nil
}
