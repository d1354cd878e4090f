// SPDX-License-Identifier: Apache-2.0

package main_test

import (
	"fmt"
	"math/rand/v2"
	"net"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// server is a member of a site, which may run.
type server struct {
	*program

	t      *testing.T
	site   *site
	name   string
	at     string   // host:port for clients
	before []string // words in front of the command
	data   string
	binary string // "": this one
}

// site is a directory of some members.
type site struct {
	flags   []string // of all members
	t       *testing.T
	servers []*server
}

// newSite starts a directory of n members on this host.
func newSite(t *testing.T, n int, flags ...string) *site {
	t.Helper()
	s := &site{t: t}
	for i := range n {
		s.add(fmt.Sprintf("m%d", i), "127.0.0.1:"+freePorts(t)).start(flags...)
	}
	return s
}

// add adds a member that does not run yet.
func (s *site) add(name, at string, before ...string) *server {
	m := &server{t: s.t, site: s, name: name, at: at, before: before, data: filepath.Join(s.t.TempDir(), name)}
	s.servers = append(s.servers, m)
	return m
}

// url returns that of the bus of the test.
func (s *site) url() string {
	var hosts []string
	for _, m := range s.servers {
		hosts = append(hosts, m.at)
	}
	return "etcd://" + strings.Join(hosts, ",") + "/test"
}

// start starts the member, which joins if it is not the first one, and waits until the
// directory works as it sees it.
func (m *server) start(flags ...string) {
	m.t.Helper()
	m.launch(flags...)
	m.works()
}

// launch starts the member.
func (m *server) launch(flags ...string) {
	m.t.Helper()
	args := append([]string{"--data", m.data, "--listen", m.at, "--name", m.name}, m.site.flags...)
	if first := m.site.servers[0]; m != first {
		args = append(args, "--join", first.at)
	}
	m.run(append(args, flags...)...)
}

// run starts the process.
func (m *server) run(args ...string) {
	m.t.Helper()
	if m.binary == "" {
		m.program = launch(m.t, m.name, "member", m.before, args...)
	} else {
		m.program = launchBinary(m.t, m.name, "member", m.before, m.binary, args...)
	}
}

// works waits until the directory works as the member sees it.
func (m *server) works() {
	m.t.Helper()
	m.await(0, "the directory works")
}

// again starts the member with its folder and nothing else.
func (m *server) again() {
	m.t.Helper()
	m.relaunch()
	m.works()
}

// relaunch is again without waiting.
func (m *server) relaunch() {
	m.t.Helper()
	m.run("--data", m.data)
}

// leader returns the member that leads.
func (s *site) leader() *server {
	s.t.Helper()
	until := time.Now().Add(patience)
	for time.Now().Before(until) {
		out := s.admin("status", "--at", s.servers[0].at)
		for line := range strings.SplitSeq(out, "\n") {
			words := strings.Fields(line)
			if len(words) < 4 || words[3] != "leader" {
				continue
			}
			for _, m := range s.servers {
				if m.name == words[0] {
					return m
				}
			}
		}
	}
	s.t.Fatal("got no leader, want one")
	return nil
}

// admin runs the command with some words, and returns what it says.
func (s *site) admin(words ...string) string {
	s.t.Helper()
	p := launch(s.t, "tagbus-directory "+words[0], "member", s.servers[0].before, words...)
	p.wait()
	var b strings.Builder
	p.mutex.Lock()
	defer p.mutex.Unlock()
	for _, line := range p.lines {
		b.WriteString(line.text + "\n")
	}
	return b.String()
}

// freePorts returns a port that is free, as the next one is. It is below those that the
// system gives to others.
func freePorts(t *testing.T) string {
	t.Helper()
	for range 100 {
		port := 20_000 + 2*rand.IntN(5_000)
		if isFree(port) && isFree(port+1) {
			return fmt.Sprint(port)
		}
	}
	t.Fatal("got no two ports that are free, want some")
	return ""
}

// isFree reports whether nothing listens at a port.
func isFree(port int) bool {
	l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port))
	return err == nil && l.Close() == nil
}
