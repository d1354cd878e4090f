// SPDX-License-Identifier: Apache-2.0

package scripts_test

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// Two hosts in network namespaces, on one wire. What is sent to blackHole is lost: the
// wire leads to a station that does not exist.
const (
	listener  = "10.77.0.1"
	blackHole = "10.77.0.9"
)

// slow is less than a dial to blackHole takes until it is given up (5 s), and much more
// than the head start that it has (250 ms).
const slow = 4 * time.Second

// hosts makes the namespaces, and returns their names: of the host that listens and of
// the one that dials.
func hosts(t *testing.T) (listens, dials string) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("needs root, to make network namespaces")
	}
	if _, err := exec.LookPath("ip"); err != nil {
		t.Skip("needs ip of the Debian package iproute2")
	}
	listens, dials = fmt.Sprintf("tagbus-%d-a", os.Getpid()), fmt.Sprintf("tagbus-%d-b", os.Getpid())
	for _, name := range []string{listens, dials} {
		if out, err := exec.Command("ip", "netns", "add", name).CombinedOutput(); err != nil {
			t.Skipf("needs the right to make network namespaces: %v: %s", err, out)
		}
		t.Cleanup(func() { ip(t, "netns del "+name) })
	}
	ip(t, "-n "+listens+" link add wire type veth peer name wire netns "+dials)
	ip(t, "-n "+listens+" address add "+listener+"/24 dev wire")
	ip(t, "-n "+dials+" address add 10.77.0.2/24 dev wire")
	for _, name := range []string{listens, dials} {
		ip(t, "-n "+name+" link set lo up")
		ip(t, "-n "+name+" link set wire up")
	}
	ip(t, "-n "+dials+" neighbor add "+blackHole+" lladdr 02:00:00:00:00:99 dev wire")
	return listens, dials
}

// ip runs ip with some words.
func ip(t *testing.T, words string) {
	t.Helper()
	if out, err := exec.Command("ip", strings.Fields(words)...).CombinedOutput(); err != nil {
		t.Fatalf("ip %s: %v: %s", words, err, out)
	}
}

// The first address that is announced leads nowhere, as that of a container's bridge
// does from other hosts. The second one is dialed soon all the same, by subscribers and
// by senders.
func TestAnAddressThatLeadsNowhere(t *testing.T) {
	notShort(t)
	listens, dials := hosts(t)
	on := func(host, command, bus string, args ...string) []string {
		return append([]string{"ip", "netns", "exec", host, command, "--backend", "tcp", "--bus", bus, "--tags", "5"}, args...)
	}
	announce := []string{"--listen", "0.0.0.0", "--advertise", blackHole + "," + listener}
	announced := `announced as ` + blackHole + `:\d+, ` + listener + `:\d+`
	soon := func(t *testing.T, p *program, begun, connected string) {
		t.Helper()
		p.await(begun)
		start := time.Now()
		p.await(connected + `.*\(` + listener + `:\d+\)`)
		if took := time.Since(start); took > slow {
			t.Errorf("%s: connected after %v, want less than %v", p.name, took, slow)
		}
	}
	t.Run("subscriber", func(t *testing.T) {
		bus := t.TempDir()
		p := run(t, "publisher", on(listens, "publisher", bus, append(announce, "--emulate", "100", "--count", "10", "--wait-subscribers", "1")...)...)
		p.await(announced)
		s := run(t, "subscriber", on(dials, "subscriber", bus, "--count", "10")...)
		soon(t, s, "waiting for publishers", " subscriber: subscribed .*")
		s.finish(0)
		p.finish(0)
	})
	t.Run("sender", func(t *testing.T) {
		bus := t.TempDir()
		s := run(t, "receiver", on(listens, "subscriber", bus, append(announce, "--receive", "--count", "10")...)...)
		s.await(announced)
		p := run(t, "sender", on(dials, "publisher", bus, "--send", "--emulate", "100", "--count", "10")...)
		soon(t, p, "sends to the receivers", " publisher: connected .*")
		s.finish(0)
		p.finish(0)
	})
}

// Both programs that listen begin before their network is up, and announce loopback. Those
// that dial find them when it is, and again when its address has changed.
func TestTheAddressOfAHostChanges(t *testing.T) {
	notShort(t)
	listens, dials := hosts(t)
	const later = "10.77.0.7"
	ip(t, "-n "+listens+" address del "+listener+"/24 dev wire")
	bus := t.TempDir()
	on := func(host, command, tag string, args ...string) []string {
		return append([]string{
			"ip", "netns", "exec", host, command, "--backend", "tcp", "--bus", bus, "--tags", tag,
			"--heartbeat", "500ms", "--heartbeat-timeout", "3s", // a machine that is busy keeps them
		}, args...)
	}
	p := run(t, "publisher", on(listens, "publisher", "5", "--listen", "0.0.0.0", "--emulate", "100", "--rate", "100")...)
	r := run(t, "receiver", on(listens, "subscriber", "6", "--listen", "0.0.0.0", "--receive")...)
	s := run(t, "subscriber", on(dials, "subscriber", "5")...)
	n := run(t, "sender", on(dials, "publisher", "6", "--send", "--emulate", "100", "--rate", "100")...)
	for _, x := range []*program{p, r} {
		x.await("announced as 127.0.0.1:")
	}
	for _, address := range []string{listener, later} {
		if address == later {
			ip(t, "-n "+listens+" address del "+listener+"/24 dev wire")
		}
		ip(t, "-n "+listens+" address add "+address+"/24 dev wire")
		for _, x := range []*program{p, r} {
			x.await(": announced as " + address + ":")
		}
		s.await("subscribed .*" + address)
		n.await("subscribed .*" + address)
	}
}
