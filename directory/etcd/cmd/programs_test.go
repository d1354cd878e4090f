// SPDX-License-Identifier: Apache-2.0

// Package cmd_test runs the programs with directories on etcd as processes, with a server
// in the process of the test.
package cmd_test

import (
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"tagbus/internal/testkit"
)

func TestTheProgramsMeetOnEtcd(t *testing.T) {
	t.Setenv("TAGBUS_TIMEOUT", "1m") // servers on a busy machine answer late
	s := startServer(t)
	pub := start(t, "publisher-etcd", "--bus", s.bus(), "--tags", "5-7", "--name", "felix", "--emulate", "100", "--rate", "1k", "--metrics", "127.0.0.1:0")
	at := pub.expect(`metrics at (http://\S+)$`)[1]
	pub.expect(`felix \(\w+\) publishes on `)
	sub := start(t, "subscriber-etcd", "--bus", s.bus(), "--tags", "5-7", "--verify", "--count", "300")
	sub.expect("waiting for publishers in " + regexp.QuoteMeta(s.bus()) + "$")
	sub.end(0)

	if got := output(t, 0, "tagbus-etcd", "--bus", s.bus(), "ls"); !strings.Contains(got, "\nfelix  publisher ") || strings.Count(got, "\n") != 2 {
		t.Errorf("ls: got %q, want felix", got)
	}
	if got := output(t, 0, "tagbus-etcd", "--bus", s.bus(), "info", "felix"); !strings.HasPrefix(got, "felix: publisher on ") {
		t.Errorf("info: got %q, want felix", got)
	}
	got := output(t, 0, "tagbus-etcd", "--bus", s.bus(), "check", "--verbose")
	for _, want := range []string{"directory\n  ok: " + s.bus() + ": it answers this host; 1 entry in ", "1 entry answers at every address", "\nOK - "} {
		if !strings.Contains(got, want) {
			t.Errorf("check: got %q, want %q in it", got, want)
		}
	}
	for _, not := range []string{"folder", "file"} {
		if strings.Contains(got, not) {
			t.Errorf("check: got %q, want nothing about a %s", got, not)
		}
	}
	for _, want := range []string{"tagbus_directory_up 1", "tagbus_directory_registrations 1"} {
		if got := get(t, at); !strings.Contains(got, "\n"+want+"\n") {
			t.Errorf("metrics: got no %q", want)
		}
	}
	commandsWork(t, s)
	pub.signal(syscall.SIGTERM)
	pub.end(0)
	if got := output(t, 0, "tagbus-etcd", "--bus", s.bus(), "--json", "ls"); got != s.bus()+" is empty: start a publisher, or a receiver, with the same --bus\n" {
		t.Errorf("ls after its end: got %q, want that it is empty", got)
	}
}

// commandsWork runs the other commands that look at a bus or use it, with felix on it.
func commandsWork(t *testing.T, s *server) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "run.tbr")
	for _, test := range []struct{ line, want string }{
		{"ls --verbose", "\nfelix "},
		{"losses", "no losses: 1 of 1 entry in " + s.bus() + " asked\n"},
		{"top --once", "\n felix "},
		{"hz 5 --count 1", " felix "},
		{"sub 5 --count 1", "saw 1 message of 1 tag"},
		{"record 5 " + file + " --count 50", "waiting for publishers in " + s.bus() + "\n"},
		{"replay " + file + " --as-fast-as-possible --map 5=50 --wait-subscribers 0", ": 50 messages of 1 tag, "},
		{"bench --round 20ms --rounds 1 --quiet", "0 lost, 0 missing, 0 corrupt, 0 duplicates\n"},
	} {
		args := append([]string{"--bus", s.bus()}, strings.Fields(test.line)...)
		if got := output(t, 0, "tagbus-etcd", args...); !strings.Contains(got, test.want) {
			t.Errorf("%s: got %q, want %q in it", test.line, got, test.want)
		}
	}
}

// A program of the core runs the one beside it, in its own process.
func TestTheCoreHandsOver(t *testing.T) {
	s := startServer(t)
	sub := start(t, "subscriber", "--bus", s.bus(), "--tags", "5", "--name", "daq", "--count", "10")
	sub.expect("waiting for publishers in " + regexp.QuoteMeta(s.bus()) + "$")
	if now, err := filepath.EvalSymlinks(filepath.Join("/proc", sub.pid(), "exe")); err != nil || filepath.Base(now) != "subscriber-etcd" {
		t.Errorf("got %s and error %v as the program of the process, want subscriber-etcd", now, err)
	}
	pub := start(t, "tagbus", "publish", "--bus", s.bus(), "--tags", "5", "--emulate", "100", "--count", "10", "--wait-subscribers", "1")
	pub.end(0)
	sub.end(0)
	output(t, 0, "tagbus", "--bus", s.bus(), "check")
}

func TestProgramsStartWhileTheServersAreAway(t *testing.T) {
	s := newServer(t)
	pub := start(t, "publisher-etcd", "--bus", s.bus(), "--tags", "5", "--name", "felix", "--emulate", "100", "--rate", "1k")
	sub := start(t, "subscriber-etcd", "--bus", s.bus(), "--tags", "5", "--count", "50")
	sub.expect(`problem: .*the servers do not answer`)
	pub.expect(`publishes on 127.0.0.1:\d+, which only this host can reach`)
	pub.expect(`problem: bus: the entry is not in the directory yet, so that no other program finds this one: .*the servers do not answer`)

	if got := output(t, 1, "tagbus-etcd", "--bus", s.bus(), "--timeout", "10s", "ls"); !strings.HasPrefix(got, "tagbus: ls: ") || !strings.Contains(got, "the servers do not answer") {
		t.Errorf("ls: got %q, want that the servers do not answer", got)
	}
	var first struct{ Level, Group, ID string }
	got := output(t, 2, "tagbus-etcd", "--bus", s.bus(), "--timeout", "10s", "--json", "check")
	if err := json.NewDecoder(strings.NewReader(got)).Decode(&first); err != nil || first.Level != "error" || first.ID != "directory-unreachable" {
		t.Errorf("check: got %q, want the error directory-unreachable", got)
	}

	s.run()
	pub.expect(`problem: bus: the entry is in the directory now, [0-9.]+m?s late`)
	sub.end(0)
	if got := output(t, 0, "tagbus-etcd", "--bus", s.bus(), "ls"); !strings.Contains(got, "\nfelix ") {
		t.Errorf("ls: got %q, want felix", got)
	}
	pub.signal(syscall.SIGTERM)
	pub.end(0)
}

func TestWrongURLsAreMistakesOfTheCommandLine(t *testing.T) {
	tests := []struct{ bus, want string }{
		{"etcd://a", `--bus: the name of the bus is ""`},
		{"etcd://me:hugo@a/x", "--bus: the URL has a user in it"},
		{"etcd://a/x?password=hugo", "--bus: a password stands in the URL"},
		{"nats://a/x", "--bus: directory: this program does not have this kind of directory"},
	}
	for _, test := range tests {
		for _, args := range [][]string{
			{"publisher-etcd", "--tags", "5", "--emulate", "100", "--bus", test.bus},
			{"subscriber-etcd", "--tags", "5", "--bus", test.bus},
			{"tagbus-etcd", "ls", "--bus", test.bus},
		} {
			if got := output(t, 2, args[0], args[1:]...); !strings.Contains(got, test.want) || strings.Contains(got, "hugo") {
				t.Errorf("%s %s: got %q, want %q and no password", args[0], test.bus, got, test.want)
			}
		}
	}
	got := output(t, 2, "publisher-etcd", "--tags", "5", "--emulate", "100", "--bus", "etcd://a/x", "--expiry", "1s")
	if !strings.Contains(got, "publisher: --expiry is 1s, want 2s to ") {
		t.Errorf("got %q, want that --expiry is too short", got)
	}
}

// The way to the servers is no way to the web: gRPC would ask the proxy of the environment
// for it by itself.
func TestAProxyIsNotAsked(t *testing.T) {
	proxy, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer proxy.Close()
	asked := make(chan struct{})
	go func() {
		defer close(asked)
		if c, err := proxy.Accept(); err == nil {
			_ = c.Close() // it is enough that it came
			t.Error("the proxy is asked")
		}
	}()
	command := exec.CommandContext(t.Context(), filepath.Join(programs(t), "tagbus-etcd"), "--bus", "etcd://224.0.0.1/x", "--timeout", "20s", "ls") // which no host can dial
	command.Env = append(environment(), "HTTPS_PROXY=http://"+proxy.Addr().String(), "HTTP_PROXY=http://"+proxy.Addr().String())
	out, err := command.CombinedOutput()
	if ended := (*exec.ExitError)(nil); !errors.As(err, &ended) || !strings.Contains(string(out), "connect: ") {
		t.Errorf("got %q and error %v, want what the system says of the address", out, err)
	}
	proxy.Close()
	<-asked
}

// output runs a program to its end, and returns what it has written.
func output(t *testing.T, status int, program string, args ...string) string {
	t.Helper()
	command := exec.CommandContext(t.Context(), filepath.Join(programs(t), program), args...)
	command.Env = environment()
	out, err := command.CombinedOutput()
	if ended := (*exec.ExitError)(nil); err != nil && !errors.As(err, &ended) {
		t.Fatal(err)
	}
	if got := command.ProcessState.ExitCode(); got != status {
		t.Fatalf("%s %q: got status %d and %q, want status %d", program, args, got, out, status)
	}
	return testkit.Said(out)
}

func get(t *testing.T, url string) string {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	response, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(body)
}
