// SPDX-License-Identifier: Apache-2.0

package monitoring_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"tagbus/cmd/internal/cli"
	"tagbus/cmd/internal/publish"
	"tagbus/cmd/internal/subscribe"
	"tagbus/internal/testkit"
)

func TestMain(m *testing.M) {
	streams := cli.Streams{In: os.Stdin, Out: os.Stdout, Err: os.Stderr}
	testscript.Main(m, map[string]func(){
		"publisher":  func() { os.Exit(publish.Main(os.Args[1:], streams)) },
		"subscriber": func() { os.Exit(subscribe.Main(os.Args[1:], streams)) },
	})
}

const (
	// patience is how long the test waits for anything.
	patience = 30 * time.Second

	// lookInterval is the time between two questions to Prometheus.
	lookInterval = 50 * time.Millisecond
)

// TestPrometheus lets a Prometheus scrape a publisher and two subscribers, of which one
// stops, and a sender, of which the receiver ends. It asks what the dashboard and the
// alerts ask.
func TestPrometheus(t *testing.T) {
	prom := &server{t: t, program: program(t, "prometheus"), folder: t.TempDir()}
	folder := filepath.Join(prom.folder, "bus")
	both := []string{"--bus", folder, "--metrics", "127.0.0.1:0", "--heartbeat-timeout", "1m"}
	common := append(slices.Clone(both), "--tags", "5")
	quick, quickAt := command(t, "subscriber", append(common, "--name", "quick", "--verify")...)
	slow, slowAt := command(t, "subscriber", append(common, "--name", "slow", "--policy", "drop-newest")...)
	_, pubAt := command(t, "publisher", append(common, "--emulate", "1000", "--rate", "5k", "--stamp", "--queue-bytes", "2M", "--wait-subscribers", "2")...)
	rcv, rcvAt := command(t, "subscriber", append(both, "--tags", "6", "--receive", "--name", "front end")...)
	_, sndAt := command(t, "publisher", append(both, "--tags", "6", "--send", "--emulate", "100", "--rate", "1k")...)
	prom.start(pubAt, quickAt, slowAt, rcvAt, sndAt)
	prom.check()

	prom.await(`tagbus_publisher_messages_total > 0`, pubAt)
	prom.await(`tagbus_publisher_subscriber_connections{name="slow"} == 1`, pubAt)
	prom.await(`tagbus_publisher_lost_messages_total{cause="full"} >= 0`, pubAt)
	// Both forms of the histogram cannot be had of Prometheus at once: native it is.
	prom.await(`histogram_count(tagbus_message_latency_seconds) > 100`, quickAt)
	prom.await(`histogram_quantile(0.99, rate(tagbus_message_latency_seconds[5s])) > 0`, quickAt)
	prom.await(`tagbus_sender_receiver_connections{name="front end"} == 1`, sndAt)
	prom.await(`tagbus_receiver_messages_total > 0`, rcvAt)
	prom.dashboard()

	signal(t, slow, syscall.SIGSTOP)
	prom.awaitAlert("TagbusTooSlow", pubAt, "firing")
	prom.await(`tagbus_publisher_subscriber_lost_messages_total{name="slow",cause="full"} > 0`, pubAt)
	prom.awaitAlert("TagbusQueueNearlyFull", pubAt, "pending") // for a minute
	signal(t, slow, syscall.SIGCONT)
	prom.await(`tagbus_subscriber_lost_messages_total{cause="full"} > 0`, slowAt)
	prom.awaitAlert("TagbusTooSlow", slowAt, "firing")
	for _, alert := range prom.alerts() {
		if name := alert.Labels["alertname"]; name != "TagbusTooSlow" && name != "TagbusQueueNearlyFull" && name != "TagbusDown" && name != "TagbusHeldUp" {
			t.Errorf("got alert %v, want none of it", alert)
		}
	}
	signal(t, quick, syscall.SIGTERM)
	prom.awaitAlert("TagbusDown", quickAt, "pending")
	signal(t, rcv, syscall.SIGTERM)
	prom.awaitAlert("TagbusNoReceiver", sndAt, "pending")
}

// command starts a command, which is killed at the end of the test, and returns where
// its metrics are once it says so.
func command(t *testing.T, name string, args ...string) (cmd *exec.Cmd, metricsAt string) {
	t.Helper()
	cmd = exec.CommandContext(t.Context(), name, args...)
	stderr, err := cmd.StderrPipe()
	if err == nil {
		err = cmd.Start()
	}
	testkit.Must(t, err)
	t.Cleanup(func() {
		_ = cmd.Process.Kill() // it may have ended
		_ = cmd.Wait()
	})
	var said []string
	for lines := bufio.NewScanner(stderr); lines.Scan(); said = append(said, lines.Text()) {
		if m := regexp.MustCompile(`metrics at http://([^/]+)/metrics$`).FindStringSubmatch(lines.Text()); m != nil {
			go func() { _, _ = io.Copy(io.Discard, stderr) }()
			return cmd, m[1]
		}
	}
	t.Fatalf("%s has not said where its metrics are, but %q", name, said)
	return nil, ""
}

func signal(t *testing.T, cmd *exec.Cmd, s os.Signal) {
	t.Helper()
	testkit.Must(t, cmd.Process.Signal(s))
}

// server is a Prometheus with the rules of deploy/ in a folder of its own.
type server struct {
	t               *testing.T
	program, folder string
	url             string
}

// start starts it and waits until it is ready.
func (s *server) start(targets ...string) {
	s.t.Helper()
	rules, err := filepath.Abs(rulesFile)
	testkit.Must(s.t, err)
	config := filepath.Join(s.folder, "prometheus.yml")
	write(s.t, config, fmt.Sprintf(`
global: {scrape_interval: 300ms, scrape_timeout: 300ms, evaluation_interval: 200ms}
rule_files: [%q]
scrape_configs:
  - job_name: tagbus
    static_configs: [{targets: ["%s"]}]
`, rules, strings.Join(targets, `", "`)))
	log, err := os.Create(filepath.Join(s.folder, "log"))
	testkit.Must(s.t, err)
	cmd := exec.CommandContext(s.t.Context(), s.program, "--config.file="+config, "--storage.tsdb.path="+filepath.Join(s.folder, "data"),
		"--web.listen-address=127.0.0.1:0", "--enable-feature=native-histograms")
	cmd.Stdout, cmd.Stderr = log, log
	testkit.Must(s.t, cmd.Start())
	s.t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		log.Close()
		if s.t.Failed() {
			s.t.Logf("%s", read(s.t, log.Name()))
		}
	})
	s.until("it listens", func() bool {
		at := listening.FindStringSubmatch(read(s.t, log.Name()))
		if at != nil {
			s.url = "http://" + at[1]
		}
		return at != nil
	})
	s.until("it is ready", func() bool {
		code, _ := s.get("/-/ready", nil)
		return code == http.StatusOK
	})
}

// listening is what it says of where it listens.
var listening = regexp.MustCompile(`msg="Listening on" address=(\S+)`)

// until waits for a condition.
func (s *server) until(what string, reached func() bool) {
	s.t.Helper()
	tick := time.NewTicker(lookInterval)
	defer tick.Stop()
	for deadline := time.Now().Add(patience); !reached(); <-tick.C {
		if time.Now().After(deadline) {
			s.t.Fatalf("waited %v until %s", patience, what)
		}
	}
}

// get returns status and body of an answer, 0 if there is none.
func (s *server) get(path string, query url.Values) (code int, body []byte) {
	s.t.Helper()
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: patience}
	response, err := client.Get(s.url + path + "?" + query.Encode())
	if err != nil {
		return 0, nil
	}
	defer response.Body.Close()
	if body, err = io.ReadAll(response.Body); err != nil {
		s.t.Fatal(err)
	}
	return response.StatusCode, body
}

// ask decodes the data of an answer.
func (s *server) ask(path string, query url.Values, data any) {
	s.t.Helper()
	code, body := s.get(path, query)
	answer := struct {
		Status, Error string
		Data          json.RawMessage
	}{}
	if err := json.Unmarshal(body, &answer); err != nil || answer.Status != "success" {
		s.t.Fatalf("%s %v: got %d %s (%v)", path, query, code, body, err)
	}
	if err := json.Unmarshal(answer.Data, data); err != nil {
		s.t.Fatalf("%s: %v", body, err)
	}
}

// query returns the labels of the result of an expression.
func (s *server) query(expr string) (labels []map[string]string) {
	s.t.Helper()
	var data struct {
		Result []struct{ Metric map[string]string }
	}
	s.ask("/api/v1/query", url.Values{"query": {expr}}, &data)
	for _, r := range data.Result {
		labels = append(labels, r.Metric)
	}
	return labels
}

// await waits until an expression has a result of an instance.
func (s *server) await(expr, instance string) {
	s.t.Helper()
	s.until(expr+" at "+instance, func() bool {
		for _, labels := range s.query(expr) {
			if labels["instance"] == instance {
				return true
			}
		}
		return false
	})
}

type alert struct {
	Labels map[string]string
	State  string
}

func (s *server) alerts() []alert {
	s.t.Helper()
	var data struct{ Alerts []alert }
	s.ask("/api/v1/alerts", nil, &data)
	return data.Alerts
}

// awaitAlert waits until an alert of an instance has a state.
func (s *server) awaitAlert(name, instance, state string) {
	s.t.Helper()
	s.until(fmt.Sprintf("the alert %s of %s is %s", name, instance, state), func() bool {
		for _, a := range s.alerts() {
			if a.Labels["alertname"] == name && a.Labels["instance"] == instance && a.State == state {
				return true
			}
		}
		return false
	})
}

// check waits until all rules have been evaluated, without errors.
func (s *server) check() {
	s.t.Helper()
	var data struct {
		Groups []struct {
			Rules []struct{ Name, Health, LastError string }
		}
	}
	s.until("all rules are evaluated", func() bool {
		s.ask("/api/v1/rules", nil, &data)
		rules := 0
		for _, g := range data.Groups {
			for _, r := range g.Rules {
				if r.LastError != "" {
					s.t.Fatalf("%s: %s", r.Name, r.LastError)
				}
				if r.Health == "ok" {
					rules++
				}
			}
		}
		return rules == len(alerts(s.t))
	})
}

// dashboard asks all that the dashboard asks. Each panel has something of a publisher or
// a subscriber to show.
func (s *server) dashboard() {
	s.t.Helper()
	for _, p := range readDashboard(s.t).Panels {
		if len(p.Targets) == 0 {
			continue // a row
		}
		s.until(fmt.Sprintf("panel %q shows something", p.Title), func() bool {
			found := false
			for _, target := range p.Targets {
				found = len(s.query(asPrometheus.Replace(target.Expr))) > 0 || found
			}
			return found
		})
	}
}
