// SPDX-License-Identifier: Apache-2.0

//go:build linux

package info

import (
	"bytes"
	"fmt"
	"net/netip"
	"strings"
	"testing"

	"tagbus/bus/directory"
	"tagbus/bus/state"
	"tagbus/cmd/internal/cli"
	"tagbus/cmd/internal/overview"
	"tagbus/cmd/internal/tool"
)

// shared returns a publisher that offers shared memory, with subscribers by it and not.
func shared() *overview.Row {
	s := felix()
	s.Gone, s.Busiest = nil, nil
	s.Peers = []state.Peer{
		{Instance: "S1", Name: "daq", Host: "host-1", PID: 99, Backend: "shm"},
		{Instance: "S2", Name: "mon\x1b[2J", Host: "host-1", PID: 5, Backend: "tcp"},
		{Instance: "S3", Name: "old", Host: "host-1", PID: 6, Backend: "tcp"},
		{Instance: "S4", Name: "far", Host: "host-2", PID: 7, Backend: "tcp"},
		{Instance: "S5", Name: "mute", Host: "host-1", PID: 8, Backend: "tcp"},
	}
	e := entry("A1", "felix-07", "0x100")
	e.Ways = []directory.Way{{Backend: "shm", Addresses: []netip.AddrPort{netip.MustParseAddrPort("127.1.2.3:7")}}}
	return &overview.Row{Entry: e, State: &s}
}

// only is the answer of a subscriber that has not what the publisher has.
var only = &state.State{Role: state.Subscriber, Host: "host-1", Backend: "tcp", Peers: []state.Peer{{
	Instance: "A1", Name: "felix-07", Host: "host-1", Backend: "tcp", Passed: []state.PassedWay{{Backend: "shm", Reason: "this program has only tcp"}},
}}}

func TestWhichTransportsAreNotUsed(t *testing.T) {
	var out bytes.Buffer
	writeState(&out, shared(), map[string]*state.State{"S2": only, "S3": only})
	for _, want := range []string{
		"\n  address      127.1.2.3:7 over shm\n               10.0.0.7:5000, 127.0.0.1:5000 over tcp\n", `
UNUSED  VIA  PEERS  WHY                              WHO
shm     tcp      2  the subscriber has only tcp      "mon\x1b[2J", old
shm     tcp      1  the subscriber does not say why  mute
`,
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("got\n%s\nwant in it\n%s", out.String(), want)
		}
	}
}

// TestASubscriberAndWhatItDoesNotUse, as its publishers and it say, or it alone.
func TestASubscriberAndWhatItDoesNotUse(t *testing.T) {
	o := overview.Overview{Rows: []overview.Row{*shared()}}
	for itself, why := range map[*state.State]string{
		nil:  "the subscriber does not say why",
		only: "the subscriber has only tcp    ",
	} {
		var out bytes.Buffer
		l := &looker{env: &tool.Env{Flags: &tool.Flags{Bus: "/bus"}, Streams: cli.Streams{Out: &out, Err: &out}}}
		if err := l.links(&out, began, linksTo(o, "S3"), nil, itself, nil); err != nil {
			t.Fatal(err)
		}
		if want := strings.TrimRight("\nshm     tcp      1  "+why, " ") + "  "; !strings.Contains(out.String(), want) || !strings.Contains(out.String(), "felix-07\n") {
			t.Errorf("got\n%s\nwant %q and the publisher", out.String(), want)
		}
	}
	var out bytes.Buffer
	writeState(&out, &overview.Row{Entry: directory.Entry{Role: directory.Subscriber}, State: only}, nil)
	if want := "\nshm     tcp      1  the subscriber has only tcp  felix-07\n"; !strings.Contains(out.String(), want) {
		t.Errorf("got\n%s\nwant %q", out.String(), want)
	}
}

// TestAClientThatGivesNoAnswerHasItsEntry, which says what it can.
func TestAClientThatGivesNoAnswerHasItsEntry(t *testing.T) {
	e := directory.Entry{Instance: "S3", Role: directory.Subscriber, Backend: "tcp"}
	o := overview.Overview{Rows: []overview.Row{{Entry: e}, {Entry: directory.Entry{Instance: "S4"}, State: new(state.State)}}}
	if s := answerOf(o, &e); s.Backend != "tcp" {
		t.Errorf("got %+v, want its entry", s)
	}
	if o.Rows[0].State = only; answerOf(o, &e) != only {
		t.Error("got the entry of one that answers")
	}
}

// TestReasonsAreBounded: peers say what they like.
func TestReasonsAreBounded(t *testing.T) {
	r, clients := shared(), make(map[string]*state.State)
	for i := range 1000 {
		id := fmt.Sprint("X", i)
		r.State.Peers = append(r.State.Peers, state.Peer{Instance: id, Host: "host-1", Backend: "tcp"})
		clients[id] = &state.State{Peers: []state.Peer{{Instance: "A1", Passed: []state.PassedWay{{Backend: "shm", Reason: fmt.Sprint("reason ", i)}}}}}
	}
	var out bytes.Buffer
	page{&out}.unused([]overview.Row{*r}, clients, func(l *overview.UnusedLink) string { return l.Peer.Label() })
	if n := strings.Count(out.String(), "\n"); n != 1+1+mostReasons+1 || !strings.Contains(out.String(), "993 more reasons") {
		t.Errorf("got %d lines:\n%s", n, out.String())
	}
}
