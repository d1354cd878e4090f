// SPDX-License-Identifier: Apache-2.0

package cli_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"os"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"tagbus/bus/state"
	"tagbus/cmd/internal/cli"
	"tagbus/internal/testkit"
)

// serve starts a server on a free port and returns its URL.
func serve(t *testing.T, host string) (s *cli.MetricsServer, url string) {
	t.Helper()
	var said string
	common := cli.Common{Metrics: &cli.Address{AddrPort: netip.AddrPortFrom(netip.MustParseAddr(host), 0)}}
	s, err := common.ServeMetrics("publisher", func(format string, args ...any) { said = fmt.Sprintf(format, args...) })
	testkit.Must(t, err)
	url, found := strings.CutPrefix(said, "metrics at ")
	if !found {
		t.Fatalf("got %q, want it to say where the metrics are", said)
	}
	return s, url
}

// get returns status and body of a page.
func get(t *testing.T, client *http.Client, method, url string) (int, string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, url, nil)
	testkit.Must(t, err)
	response, err := client.Do(request)
	testkit.Must(t, err)
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	testkit.Must(t, err)
	return response.StatusCode, string(body)
}

// newClient returns a client without proxy, whose connections end with the test.
func newClient(t *testing.T) *http.Client {
	t.Helper()
	transport := new(http.Transport)
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport}
}

func TestMetricsServer(t *testing.T) {
	for _, host := range []string{"127.0.0.1", "::1"} {
		t.Run(host, func(t *testing.T) {
			s, url := serve(t, host)
			if got := "http://" + s.Addr().String() + "/metrics"; got != url || s.Addr().Port() == 0 {
				t.Errorf("got address %v, want that of %s", s.Addr(), url)
			}
			client := newClient(t)
			gauge := prometheus.NewGauge(prometheus.GaugeOpts{Name: "answer", Help: "h"})
			gauge.Set(42)
			testkit.Must(t, s.Register(gauge))
			if err := s.Register(gauge); err == nil {
				t.Error("registered the same metrics twice, want an error")
			}
			code, body := get(t, client, http.MethodGet, url)
			for _, want := range []string{"\nanswer 42\n", "\ngo_goroutines ", "\nprocess_open_fds ", "\npromhttp_metric_handler_errors_total"} {
				if code != http.StatusOK || !strings.Contains(body, want) {
					t.Errorf("got status %d and no %q in\n%s", code, want, body)
				}
			}
			if code, _ := get(t, client, http.MethodGet, url+"/none"); code != http.StatusNotFound {
				t.Errorf("another page: got status %d, want %d", code, http.StatusNotFound)
			}
			if code, _ := get(t, client, http.MethodPost, url); code != http.StatusMethodNotAllowed {
				t.Errorf("POST: got status %d, want %d", code, http.StatusMethodNotAllowed)
			}
			if err := s.Close(); err != nil {
				t.Errorf("close: got %v, want nil", err)
			}
			address := strings.TrimSuffix(strings.TrimPrefix(url, "http://"), "/metrics")
			if conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", address); !errors.Is(err, syscall.ECONNREFUSED) {
				t.Errorf("dial after close: got %v, %v, want a refusal", conn, err)
			}
		})
	}
}

// TestMetricsServerLeavesOutWhatIsBad gathers a metric that cannot be shown.
func TestMetricsServerLeavesOutWhatIsBad(t *testing.T) {
	s, url := serve(t, "127.0.0.1")
	client := newClient(t)
	testkit.Must(t, s.Register(badCollector{}))
	for range 2 { // the second tells of the first
		code, body := get(t, client, http.MethodGet, url)
		if code != http.StatusOK || !strings.Contains(body, "\ngo_goroutines ") {
			t.Errorf("got status %d and\n%s\nwant the other metrics", code, body)
		}
	}
	if _, body := get(t, client, http.MethodGet, url); !strings.Contains(body, `promhttp_metric_handler_errors_total{cause="gathering"} 2`) {
		t.Errorf("got no count of bad gatherings in\n%s", body)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

type badCollector struct{}

var badDesc = prometheus.NewDesc("bad", "h", nil, nil)

func (badCollector) Describe(ch chan<- *prometheus.Desc) { ch <- badDesc }

func (badCollector) Collect(ch chan<- prometheus.Metric) {
	ch <- prometheus.NewInvalidMetric(badDesc, errors.New("broken"))
}

// TestMetricsServerDoesNotWaitForTheSlow closes it with two connections: one
// sends no request, and the metrics of the other do not come.
func TestMetricsServerDoesNotWaitForTheSlow(t *testing.T) {
	s, url := serve(t, "127.0.0.1")
	silent, err := new(net.Dialer).DialContext(t.Context(), "tcp", strings.TrimSuffix(strings.TrimPrefix(url, "http://"), "/metrics"))
	testkit.Must(t, err)
	defer silent.Close()
	entered, release := make(chan struct{}), make(chan struct{})
	if err := s.Register(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "stuck", Help: "h"}, func() float64 {
		close(entered)
		<-release
		return 0
	})); err != nil {
		t.Fatal(err)
	}
	client := newClient(t)
	cut := make(chan error, 1)
	go func() {
		request, err := http.NewRequestWithContext(context.Background(), http.MethodGet, url, nil)
		if err == nil {
			var response *http.Response
			if response, err = client.Do(request); err == nil {
				response.Body.Close()
			}
		}
		cut <- err
	}()
	<-entered
	begin := time.Now()
	if err := s.Close(); err != nil {
		t.Errorf("close: got %v, want nil", err)
	}
	if took := time.Since(begin); took > 10*time.Second {
		t.Errorf("close took %v, want about half a second", took)
	}
	close(release) // now it would be answered
	if err := <-cut; err == nil {
		t.Error("the scrape was answered, want it cut off")
	}
}

// TestMetricsServerShowsTheState asks before and after there is an instance, and closes the
// server under a viewer, which would stay for ever.
func TestMetricsServerShowsTheState(t *testing.T) {
	s, url := serve(t, "127.0.0.1")
	client := newClient(t)
	api := strings.TrimSuffix(url, "metrics") + "api/v1/"
	process := func() (p state.Process) {
		code, body := get(t, client, http.MethodGet, api+"state?peers=3")
		if err := json.Unmarshal([]byte(body), &p); err != nil || code != http.StatusOK {
			t.Fatalf("got status %d, error %v and %s", code, err, body)
		}
		return p
	}
	early := process()
	if early.Version != state.Version || early.Command != "publisher" || early.PID != os.Getpid() || early.Program == "" || early.Go != runtime.Version() ||
		early.Since.IsZero() || early.Uptime < 0 || early.Time.Before(early.Since) || len(early.Instances) != 0 {
		t.Errorf("before there is an instance: got %+v", early)
	}
	s.Show(func(_ context.Context, q state.Question) (state.State, error) {
		return state.State{Role: state.Publisher, Connected: q.Peers}, nil
	})
	if p := process(); len(p.Instances) != 1 || p.Instances[0].Role != state.Publisher || p.Instances[0].Connected != 3 || p.Uptime <= early.Uptime {
		t.Errorf("got %+v, want one instance that was asked for 3 peers", p)
	}
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, api+"events", nil)
	testkit.Must(t, err)
	events, err := client.Do(request)
	testkit.Must(t, err)
	defer events.Body.Close()
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if _, err := io.ReadAll(events.Body); err != nil {
		t.Errorf("the events were cut off by the end: %v", err)
	}
	none := (*cli.MetricsServer)(nil)
	none.Show(nil)
}

func TestMetricsServerFailures(t *testing.T) {
	var none *cli.MetricsServer
	if s, err := new(cli.Common).ServeMetrics("publisher", nil); s != none || err != nil {
		t.Errorf("without the flag: got %v, %v, want nothing", s, err)
	}
	if got := none.Addr(); got != (netip.AddrPort{}) {
		t.Errorf("no server: got address %v, want none", got)
	}
	if err := errors.Join(none.Register(badCollector{}), none.Close()); err != nil {
		t.Errorf("no server: got %v, want nil", err)
	}
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	testkit.Must(t, err)
	defer listener.Close()
	taken := cli.Address{AddrPort: listener.Addr().(*net.TCPAddr).AddrPort()}
	_, err = (&cli.Common{Metrics: &taken}).ServeMetrics("publisher", nil)
	if want := fmt.Sprintf("--metrics %v: address already in use: another program listens there: stop it, or give another port, or 0 for any that is free", taken); err == nil || err.Error() != want {
		t.Errorf("a port in use: got %v, want %s", err, want)
	}
	if code := cli.Code(err); code != cli.ExitFailed {
		t.Errorf("a port in use: got exit code %d, want %d", code, cli.ExitFailed)
	}
}

// TestMetricsOfALinkLocalAddress: a listener does not say its zone, without which
// nothing can be dialed.
func TestMetricsOfALinkLocalAddress(t *testing.T) {
	host := linkLocal(t)
	var at cli.Address
	testkit.Must(t, at.UnmarshalText([]byte("["+host+"]:0")))
	s, url := serve(t, at.Addr().String())
	if status, _ := get(t, newClient(t), http.MethodGet, url); status != http.StatusOK {
		t.Errorf("got status %d from %s, want %d", status, url, http.StatusOK)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

// linkLocal returns an address of this host that needs a zone, with it.
func linkLocal(t *testing.T) string {
	t.Helper()
	interfaces, err := net.Interfaces()
	testkit.Must(t, err)
	for _, i := range interfaces {
		addresses, err := i.Addrs()
		testkit.Must(t, err)
		for _, a := range addresses {
			if ip, ok := a.(*net.IPNet); ok && ip.IP.To4() == nil && ip.IP.IsLinkLocalUnicast() && i.Flags&net.FlagUp != 0 {
				return ip.IP.String() + "%" + i.Name
			}
		}
	}
	t.Skip("this host has no link-local IPv6 address")
	return ""
}

// TestMetricsServerAnswersNoOtherSite, on any path (DNS rebinding).
func TestMetricsServerAnswersNoOtherSite(t *testing.T) {
	s, url := serve(t, "127.0.0.1")
	defer s.Close()
	client := newClient(t)
	for _, path := range []string{"/metrics", "/healthz", "/api/v1/state", "/api/v1/bus", "/", "/nothing"} {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, strings.TrimSuffix(url, "/metrics")+path, nil)
		testkit.Must(t, err)
		request.Host = "evil.example"
		response, err := client.Do(request)
		testkit.Must(t, err)
		_ = response.Body.Close()
		if response.StatusCode != http.StatusMisdirectedRequest {
			t.Errorf("%s: got status %d, want %d", path, response.StatusCode, http.StatusMisdirectedRequest)
		}
	}
}

// TestMetricsServerHasFewConnections: the descriptors of a process are for the bus. Silent ones
// keep no scrape out.
func TestMetricsServerHasFewConnections(t *testing.T) {
	defer func(was time.Duration) { *cli.MetricsTimeout = was }(*cli.MetricsTimeout)
	*cli.MetricsTimeout = time.Minute // what ends a connection before that is their number
	s, url := serve(t, "127.0.0.1")
	defer s.Close()
	const all, most = 300, 100
	var silent []net.Conn
	for range all {
		c, err := net.Dial("tcp", s.Addr().String())
		testkit.Must(t, err)
		defer c.Close()
		silent = append(silent, c)
	}
	if status, _ := get(t, newClient(t), http.MethodGet, url); status != http.StatusOK {
		t.Errorf("got status %d, want %d", status, http.StatusOK)
	}
	deadline := time.Now().Add(30 * time.Second)
	for i, c := range silent[:all-most] { // behind the scrape all were accepted
		testkit.Must(t, c.SetReadDeadline(deadline))
		if n, err := c.Read(make([]byte, 1)); n > 0 || err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
			t.Fatalf("connection %d of %d: got %d bytes and %v, want the end", i, all, n, err)
		}
	}
}
