// SPDX-License-Identifier: Apache-2.0

package main_test

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"tagbus/internal/testkit"
)

// all skips a test that takes long, unless everything is asked for.
func all(t *testing.T) {
	t.Helper()
	if !testkit.All() {
		t.Skip("it takes long: not run without TAGBUS_TESTS=all")
	}
}

// hosts makes n hosts in network namespaces on one switch, and returns the words with
// which a command runs on each, and their addresses.
func hosts(t *testing.T, n int) (on [][]string, at []string) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("needs root, to make network namespaces")
	}
	if _, err := exec.LookPath("ip"); err != nil {
		t.Skip("needs ip of the Debian package iproute2")
	}
	prefix := fmt.Sprintf("tbd-%d-%s", os.Getpid(), strings.ToLower(t.Name()[4:8]))
	center := prefix + "-sw"
	if out, err := exec.Command("ip", "netns", "add", center).CombinedOutput(); err != nil {
		t.Skipf("needs the right to make network namespaces: %v: %s", err, out)
	}
	t.Cleanup(func() { ip(t, "netns del "+center) })
	ip(t, "-n "+center+" link add switch type bridge")
	ip(t, "-n "+center+" link set switch up")
	for i := range n {
		name, address := fmt.Sprintf("%s-%d", prefix, i), fmt.Sprintf("10.78.0.%d", i+1)
		ip(t, "netns add "+name)
		t.Cleanup(func() { ip(t, "netns del "+name) })
		ip(t, fmt.Sprintf("-n %s link add wire type veth peer name port%d netns %s", name, i, center))
		ip(t, fmt.Sprintf("-n %s link set port%d master switch", center, i))
		ip(t, fmt.Sprintf("-n %s link set port%d up", center, i))
		ip(t, "-n "+name+" address add "+address+"/24 dev wire")
		ip(t, "-n "+name+" link set lo up")
		ip(t, "-n "+name+" link set wire up")
		on, at = append(on, []string{"ip", "netns", "exec", name}), append(at, address)
	}
	return on, at
}

// ip runs ip with some words.
func ip(t *testing.T, words string) {
	t.Helper()
	if out, err := exec.Command("ip", strings.Fields(words)...).CombinedOutput(); err != nil {
		t.Fatalf("ip %s: %v: %s", words, err, out)
	}
}

// namespaced starts a directory of three members on the first three of some hosts.
func namespaced(t *testing.T, n int) (s *site, on [][]string, at []string) {
	t.Helper()
	on, at = hosts(t, n)
	s = &site{t: t, flags: []string{"--member", "10.78.0.0/24"}}
	for i := range 3 {
		s.add(fmt.Sprintf("m%d", i), at[i]+":2379", on[i]...).start()
	}
	return s, on, at
}

// The leader cannot reach the other members, nor they it, but all clients reach all
// members: those of the leader must go to one that has a leader.
func TestAMemberIsCutOffFromTheOthers(t *testing.T) {
	all(t)
	site, on, at := namespaced(t, 4)
	s := &scene{t: t}
	for i := range 3 {
		s.join(newClient(t, fmt.Sprintf("living-%d", i), site.url(), on[3]...))
	}
	s.mortal = newClient(t, "mortal", site.url(), on[3]...)
	s.mortal.announce("mortal")
	s.seen("mortal")

	leader := site.leader()
	host := leader.before[3]
	for i, m := range site.servers {
		if m != leader {
			ip(t, "-n "+host+" route add blackhole "+at[i]+"/32")
		}
	}
	s.dies()
	s.goesOn()
	s.buried(time.Time{})
	s.outlast(3)
	s.goesOn()
	for i, m := range site.servers {
		if m != leader {
			ip(t, "-n "+host+" route del blackhole "+at[i]+"/32")
		}
	}
	leader.await(leader.mark()-1, "a member leads")
	s.goesOn()
	s.end()
}

// A host is cut off, with a member and a client. Those on the other side take its
// publisher for dead, as they must. The client there learns of no death, and once the
// host is back all is as if nothing had been.
func TestAMinorityWithClients(t *testing.T) {
	all(t)
	site, on, _ := namespaced(t, 4)
	s := &scene{t: t}
	for i := range 3 {
		s.join(newClient(t, fmt.Sprintf("living-%d", i), site.url(), on[3]...))
	}
	cut := site.servers[2]
	host := cut.before[3]
	inside := newClient(t, "inside", "etcd://"+cut.at+"/test", on[2]...)
	inside.announce("inside")
	for _, c := range s.living {
		inside.await(0, "appeared "+c.name+".")
		c.await(0, "appeared inside.")
	}

	ip(t, "-n "+host+" link set wire down")
	down := time.Now()
	inside.await(0, "problem")
	for _, c := range s.living {
		if took := c.await(0, "gone inside.").at.Sub(down); took < expiry/3*2 || took > goneWithin {
			t.Errorf("%s: takes the publisher that is cut off for dead after %v, want about %v", c.name, took, expiry)
		}
	}
	s.outlast(3)
	s.living[0].announce("meanwhile")
	s.seen("meanwhile")

	from := s.living[1].mark()
	ip(t, "-n "+host+" link set wire up")
	inside.await(0, "appeared meanwhile.")
	s.living[1].await(from, "appeared inside.")
	if line, _, found, _ := inside.find(0, "gone "); found {
		t.Errorf("inside: got %q, want none gone", line.text)
	}
	s.goesOn()
	s.end()
}
