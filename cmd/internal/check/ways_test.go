// SPDX-License-Identifier: Apache-2.0

package check

import (
	"context"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"tagbus/bus/directory"
	"tagbus/bus/state"
	"tagbus/cmd/internal/overview"
)

// on gives an instance a host and peers there, by some transports, and shared memory if it offers that.
func (e *entrySeen) on(host string, offers bool, peers ...state.Peer) {
	e.Entry.Host = host
	if offers {
		e.Entry.Ways = []directory.Way{{Backend: "shm", Addresses: []netip.AddrPort{netip.MustParseAddrPort("127.1.2.3:7")}}}
	}
	for _, s := range []*state.State{e.first.state, e.second.state} {
		s.Role, s.Host, s.Connected, s.Peers = state.Publisher, host, len(peers), peers
	}
}

func local(id, via string) state.Peer {
	return state.Peer{Instance: id, Name: "name-" + id, Host: "pc-1", Backend: via}
}

// waysWrongs are connections that could go by a better transport, and hosts that do not suit the
// one that programs have chosen.
var waysWrongs = []wrong{
	{"little memory may be locked, and a program of this host has chosen RDMA", func(s *seen) {
		s.us.backend, s.entries[0].Entry.Host = "auto", s.us.host
		s.entries[0].Entry.Ways = []directory.Way{{Backend: "rdma:verbs", Addresses: s.entries[0].Entry.Addresses}}
	}},
	{"little memory may be locked, and only programs of other hosts have RDMA", func(s *seen) {
		s.us.backend = "auto"
		s.entries[0].Entry.Ways = []directory.Way{{Backend: "rdma:verbs", Addresses: s.entries[0].Entry.Addresses}}
	}},
	{"the congestion control paces, and the backend is chosen", func(s *seen) { s.us.backend, s.host.congestion = "auto", "bbr" }},
	{"the congestion control paces, and the backend is tls", func(s *seen) { s.us.backend, s.host.congestion = "tls", "bbr" }},
	{"connections go by the best transport", func(s *seen) { s.entries[0].on("pc-1", true, local("S1", "shm")) }},
	{"subscribers of one host are connected by tcp, and say why", func(s *seen) {
		s.entries[0].on("pc-1", true, local("S1", "tcp"), local("S2", "tcp"), local("S3", "shm"), local("S4", "tcp"))
		only := func(id string) *state.State {
			return &state.State{Instance: id, Role: state.Subscriber, Backend: "tcp"}
		}
		s.clients = map[string]*state.State{"S1": only("S1"), "S2": only("S2"), "S4": {
			Backend: "shm,tcp", Peers: []state.Peer{{Instance: "I1", Passed: []state.PassedWay{{Backend: "shm", Reason: "by shm: netio: open endpoint 127.1.2.3:7: connection refused: netio: no process of this host has this name"}}}},
		}}
	}},
	{"a subscriber does not say why it is connected by tcp", func(s *seen) { s.entries[0].on("pc-1", true, local("S1", "tcp")) }},
	{"a subscriber says something odd", func(s *seen) {
		s.entries[0].on("pc-1", true, local("S1", "tcp"))
		s.clients = map[string]*state.State{"S1": {Backend: "shm,tcp", Peers: []state.Peer{{Instance: "I1", Passed: []state.PassedWay{{Backend: "shm", Reason: "a\x1b[2J\nb"}}}}}}
	}},
	{"a publisher does not share memory", func(s *seen) { s.entries[0].on("pc-1", false, local("S1", "tcp")) }},
	{"a publisher has certificates", func(s *seen) {
		s.entries[0].Entry.Backend = "tls"
		s.entries[0].on("pc-1", false, local("S1", "tls"))
	}},
	{"a subscriber of another host has no RDMA", func(s *seen) {
		s.entries[0].on("pc-1", true, state.Peer{Instance: "S1", Name: "far", Host: "pc-9", Backend: "tcp"})
		s.entries[0].Entry.Ways = append(s.entries[0].Entry.Ways, directory.Way{Backend: "rdma:verbs", Addresses: s.entries[0].Entry.Addresses})
		s.clients = map[string]*state.State{"S1": {Backend: "shm,tcp"}}
	}},
}

// TestTheReasonsOfTransportsStayApart from one look to the next, and over many publishers each is one.
func TestTheReasonsOfTransportsStayApart(t *testing.T) {
	s := site(300, func(e *entrySeen) {
		e.on("pc-1", true, local("S"+e.Entry.Instance, "tcp"), local("M"+e.Entry.Instance, "tcp"))
	})
	s.clients = make(map[string]*state.State)
	before := judgeWays(s)
	for i := range s.entries {
		s.clients["S"+s.entries[i].Entry.Instance] = &state.State{Backend: "tcp"}
	}
	now := judgeWays(s)
	if len(before) != 1 || len(now) != 2 || before[0].key() == now[1].key() && now[0].key() == now[1].key() {
		t.Fatalf("got %v, then %v, want one reason, then two", before, now)
	}
	if !strings.HasPrefix(now[0].Text, "300 connections within one host are by tcp, not shm, because ") || !strings.HasSuffix(now[0].Text, ", 296 more") {
		t.Errorf("got %q, want the number and the first few", now[0].Text)
	}
	if found := changes(noon, before, now); len(found) != 1 || found[0].Change != "new" {
		t.Errorf("got %v, want that one reason is new", found)
	}
}

// TestTheBestTransportIsAllRight, and of programs that do not say theirs there is nothing to say.
func TestTheBestTransportIsAllRight(t *testing.T) {
	for via, want := range map[string]string{"shm": "  ok: /bus: 1 connection is by the best transport that both ends have\n", "": ""} {
		s := healthy()
		s.entries[0].on("pc-1", true, local("S1", via))
		if got := shown(judgeWays(s), func(Finding) bool { return true }); got != want {
			t.Errorf("by %q: got %q, want %q", via, got, want)
		}
	}
}

// TestClientsAreAskedWhereTheyMayTell, and not elsewhere.
func TestClientsAreAskedWhereTheyMayTell(t *testing.T) {
	for _, test := range []struct {
		via  string
		want []string
	}{{"shm", nil}, {"tcp", []string{"I1"}}} {
		s := healthy()
		s.entries[0].on("pc-1", true, local("S1", test.via))
		var asked []string
		l := &looker{tell: func(_ context.Context, rows []overview.Row) map[string]*state.State {
			for i := range rows[:1] {
				asked = append(asked, rows[i].Entry.Instance)
			}
			return map[string]*state.State{"S1": {}}
		}}
		l.askClients(t.Context(), s)
		if !slices.Equal(asked, test.want) || (s.clients["S1"] != nil) != (test.want != nil) {
			t.Errorf("by %s: got %v asked and %v, want %v", test.via, asked, s.clients, test.want)
		}
	}
}
