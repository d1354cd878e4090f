// SPDX-License-Identifier: Apache-2.0

package overview_test

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"

	"tagbus/bus/directory"
	"tagbus/bus/state"
	"tagbus/cmd/internal/overview"
	"tagbus/netio"
)

// reachedBy returns the entry of a publisher with some transports, the best first.
func reachedBy(names ...string) directory.Entry {
	e := directory.Entry{Instance: "P1", Name: "felix", Host: "pc-1", Backend: names[len(names)-1]}
	for _, name := range names[:len(names)-1] {
		e.Ways = append(e.Ways, directory.Way{Backend: name, Addresses: []netip.AddrPort{netip.MustParseAddrPort("127.1.2.3:9")}})
	}
	return e
}

func TestTheNamesOfTransports(t *testing.T) {
	e := reachedBy("shm", "rdma:verbs", "tcp")
	if got := overview.Backends(&e); got != "shm,rdma:verbs,tcp" {
		t.Errorf("got %s, want the best first", got)
	}
	for want, by := range map[string][]state.BackendCount{
		"": nil, "tcp": {{Backend: "tcp", Connected: 7}}, "shm=3,tcp=1": {{Backend: "shm", Connected: 3}, {Backend: "tcp", Connected: 1}},
	} {
		if got := overview.Via(&state.State{ByBackend: by}); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// passed returns the answer of a subscriber that does not use a transport of P1.
func passed(backend, reason string) *state.State {
	return &state.State{Role: state.Subscriber, Backend: "shm,tcp", Peers: []state.Peer{
		{Instance: "P0", Passed: []state.PassedWay{{Backend: backend, Reason: "of another one"}}},
		{Instance: "P1", Passed: []state.PassedWay{{Backend: backend, Reason: reason}}},
	}}
}

func TestWhyABetterTransportIsNotUsed(t *testing.T) {
	notHere := fmt.Sprintf("by shm: %v", &netio.OpError{Op: "open endpoint", Addr: netip.MustParseAddrPort("127.1.2.3:9"), Err: netio.ErrElsewhere})
	for _, test := range []struct {
		name      string
		announced string
		host, via string // of the peer, and of the connection
		itself    *state.State
		want      string // transport, reason, and whether there is something to do
	}{
		{"the best one is used", "shm tcp", "pc-1", "shm", nil, ""},
		{"another host", "shm tcp", "pc-2", "tcp", nil, ""},
		{"another host, which is not known", "shm tcp", "", "tcp", nil, ""},
		{"RDMA from another host", "shm rdma:verbs tcp", "pc-2", "tcp", passed("rdma:verbs", "by rdma:verbs: netio: open endpoint [fe80::1%eth0]:7: no such device"), "rdma:verbs: netio: open endpoint: no such device; do"},
		{"RDMA where memory could be shared", "shm rdma:verbs tcp", "pc-1", "rdma:verbs", passed("shm", "x"), "shm: x; do"},
		{"RDMA that is used", "shm rdma:verbs tcp", "pc-2", "rdma:verbs", nil, ""},
		{"an earlier release", "tcp", "pc-1", "", nil, ""},
		{"a transport that is not announced any more", "shm tcp", "pc-1", "tls", nil, ""},
		{"a subscriber that is not asked", "shm tcp", "pc-1", "tcp", nil, "shm: the subscriber does not say why; do"},
		{"a subscriber that does not know", "shm tcp", "pc-1", "tcp", &state.State{Backend: "shm,tcp"}, "shm: the subscriber does not say why; do"},
		{"a subscriber without it", "shm tcp", "pc-1", "tcp", passed("shm", "this program has only tcp"), "shm: the subscriber has only tcp; do"},
		{"a subscriber of an earlier release", "shm tcp", "pc-1", "tcp", &state.State{Backend: "tcp"}, "shm: the subscriber has only tcp; do"},
		{"another user", "shm tcp", "pc-1", "tcp", passed("shm", notHere), "shm: the subscriber does not see the socket of the publisher, as user, container or --shm-folder differ; do"},
		{"a publisher without it", "tcp", "pc-1", "tcp", passed("shm", "x"), "shm: the publisher has only tcp; do"},
		{"certificates", "tls", "pc-1", "tls", nil, "shm: the publisher has only tls; do"},
	} {
		r := overview.Row{Entry: reachedBy(strings.Fields(test.announced)...), State: &state.State{Role: state.Publisher, Host: "pc-1"}}
		u, ok := r.Unused(&state.Peer{Instance: "S1", Host: test.host, Backend: test.via}, test.itself)
		if got := text(u); ok != (test.want != "") || got != test.want || ok && u.Via != test.via {
			t.Errorf("%s: got %q by %q, %v, want %q", test.name, got, u.Via, ok, test.want)
		}
	}
}

// text returns a transport and why it is not used.
func text(u overview.Unused) string {
	switch {
	case u.Do != "":
		return u.Backend + ": " + u.Reason + "; do"
	case u.Backend != "":
		return u.Backend + ": " + u.Reason
	}
	return ""
}

// TestASubscriberSaysItself what it does not use.
func TestASubscriberSaysItself(t *testing.T) {
	s := passed("shm", "this program has only tcp")
	r := overview.Row{State: s}
	s.Host = "pc-1"
	for _, test := range []struct {
		host   string
		passed []state.PassedWay
		want   string
	}{
		{"pc-1", s.Peers[1].Passed, "shm: the subscriber has only tcp; do"},
		{"pc-2", s.Peers[1].Passed, ""},
		{"pc-2", append(s.Peers[1].Passed[:1:1], state.PassedWay{Backend: "rdma:verbs", Reason: "late"}), "rdma:verbs: late; do"},
		{"pc-1", nil, "shm: the publisher has only tcp; do"},
	} {
		u, _ := r.Unused(&state.Peer{Instance: "P1", Host: test.host, Backend: "tcp", Passed: test.passed}, nil)
		if got := text(u); got != test.want {
			t.Errorf("%s, %v: got %q, want %q", test.host, test.passed, got, test.want)
		}
	}
	s.Role = state.Sender
	if u, ok := r.Unused(&state.Peer{Instance: "P1", Host: "pc-1", Backend: "tcp"}, nil); ok {
		t.Errorf("got %+v of a sender, which does not tell", u)
	}
}

// TestReasonsAreGrouped over publishers, and clients that may tell are found.
func TestReasonsAreGrouped(t *testing.T) {
	peer := func(id string) state.Peer { return state.Peer{Instance: id, Host: "pc-1", Backend: "tcp"} }
	row := func(id string, peers ...state.Peer) overview.Row {
		e := reachedBy("shm", "tcp")
		e.Instance, e.Name = id, "name-"+id
		return overview.Row{Entry: e, State: &state.State{Role: state.Publisher, Host: "pc-1", Peers: peers}}
	}
	fine := peer("S9")
	fine.Backend = "shm"
	rows := []overview.Row{{}, row("P1", peer("S1"), peer("S2"), fine), row("P2", peer("S1"), peer("S3"))}
	only := &state.State{Backend: "tcp"}
	var got []string
	for _, g := range overview.UnusedWays(rows, map[string]*state.State{"S1": only, "S3": only}) {
		line := g.Reason + ":"
		for _, l := range g.Links {
			line += " " + l.At.Instance + "-" + l.Peer.Instance
		}
		got = append(got, line)
	}
	if want := "the subscriber has only tcp: P1-S1 P2-S1 P2-S3, the subscriber does not say why: P1-S2"; strings.Join(got, ", ") != want {
		t.Errorf("got %q, want %q", got, want)
	}
	telling := overview.Telling(rows, []directory.Entry{
		{Instance: "S1", Role: directory.Subscriber}, {Instance: "S9", Role: directory.Subscriber}, {Instance: "S3"},
	})
	if len(telling) != 1 || telling[0].Instance != "S1" {
		t.Errorf("got %v, want S1 alone: S9 is connected by the best, and S3 is no client", telling)
	}
}
