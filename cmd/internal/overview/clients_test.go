// SPDX-License-Identifier: Apache-2.0

package overview_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"tagbus/bus/directory"
	"tagbus/bus/state"
	"tagbus/cmd/internal/overview"
	"tagbus/tags"
)

// TestClientsAreCompletedByTheirPublishers: one that is listed and silent, one that says itself what it is, one that
// is connected to nothing, and one that is not listed.
func TestClientsAreCompletedByTheirPublishers(t *testing.T) {
	told := func(id string, n uint64) state.Peer {
		return state.Peer{Instance: id, Name: "name-" + id, Host: "h", PID: 9, Since: noon, Backend: "tcp", Messages: n, Bytes: 10 * n, Losses: lost(state.Full, n/100)}
	}
	of := func(name string) overview.Row {
		return publisher(name, func(before, now *state.State) {
			before.Peers = []state.Peer{told("silent", 100), told("unlisted", 100)}
			now.Peers = []state.Peer{told("silent", 300), told("unlisted", 100), told("tells", 1)}
		})
	}
	client := func(id string) overview.Row {
		return overview.Row{Entry: directory.Entry{Instance: id, Role: directory.Subscriber}, Err: errors.New("no monitor")}
	}
	tells := client("tells")
	tells.State, tells.Err = &state.State{Time: noon.Add(time.Second), Messages: 77}, nil
	o := overview.Overview{Rows: []overview.Row{of("a"), of("b"), client("silent"), tells, client("lonely")}}
	o.Clients()
	if len(o.Rows) != 6 {
		t.Fatalf("got %d rows, want one more for the client that is not listed", len(o.Rows))
	}
	silent, lonely, unlisted := o.Rows[2], o.Rows[4], o.Rows[5]
	rate, ok := silent.Rate(func(s *state.State) uint64 { return s.Messages })
	if s := silent.State; s == nil || s.Connected != 2 || s.Messages != 600 || s.PayloadBytes != 6000 || state.Lost(s.Losses) != 6 || !ok || rate != 200 || silent.Err != nil || overview.Via(s) != "tcp" {
		t.Errorf("got %+v and %v messages a second, want the sums of both publishers", s, rate)
	}
	if o.Rows[3].State.Messages != 77 {
		t.Errorf("got %+v, want what the client says itself", o.Rows[3].State)
	}
	if lonely.State != nil || lonely.Err == nil {
		t.Errorf("got %+v, want nothing of one that is connected to nothing", lonely.State)
	}
	if e := unlisted.Entry; e.Instance != "unlisted" || e.Name != "name-unlisted" || e.Role != directory.Subscriber || e.Backend != "tcp" || unlisted.State.Connected != 2 {
		t.Errorf("got %+v, want the client that is not listed", unlisted)
	}
}

// TestAClientWithoutAConnectionIsKnown to have none, as far as all that it may be connected to tell.
func TestAClientWithoutAConnectionIsKnown(t *testing.T) {
	client := func(id string, set tags.Set) overview.Row {
		return overview.Row{Entry: directory.Entry{Instance: id, Role: directory.Subscriber, Tags: set}, Err: errors.New("no monitor")}
	}
	pub := publisher("pub", func(_, now *state.State) {
		now.Gone = []state.Peer{{Instance: "stopped", Messages: 7, Losses: lost(state.Full, 3)}}
	})
	silent := publisher("silent", func(_, _ *state.State) {})
	pub.Entry.Tags, silent.Entry.Tags, silent.State = tags.Of(1), tags.Of(2), nil
	o := overview.Overview{Rows: []overview.Row{pub, silent, client("lonely", tags.Of(9)), client("stopped", tags.Of(1)), client("may be", tags.Of(1, 2))}}
	o.Clients()
	o.Unconnected()
	lonely, stopped, maybe := o.Rows[2], o.Rows[3], o.Rows[4]
	if lonely.State == nil || lonely.State.Connected != 0 || lonely.Err != nil {
		t.Errorf("got %+v (%v), want no connection", lonely.State, lonely.Err)
	}
	if s := stopped.State; s == nil || s.Connected != 0 || s.Messages != 7 || state.Lost(s.Losses) != 3 {
		t.Errorf("got %+v, want what is remembered", s)
	}
	if maybe.State != nil || maybe.Err == nil || maybe.Err.Error() != "it serves no state, and "+overview.NamesOf([]*overview.Row{&silent})+" could not be asked for all its peers" {
		t.Errorf("got %+v (%v), want that it is not known", maybe.State, maybe.Err)
	}
}

// TestWhatTheDirectoryHidesMayBeConnected: of a client of a publisher whose entry is refused it was said that it is connected to
// nothing, and has lost nothing.
func TestWhatTheDirectoryHidesMayBeConnected(t *testing.T) {
	o := overview.Overview{
		Rows:    []overview.Row{{Entry: directory.Entry{Instance: "lonely", Role: directory.Subscriber, Tags: tags.Of(9)}, Err: errors.New("no monitor")}},
		Problem: errors.New("the entry of X is not used"),
	}
	o.Unconnected()
	if r := o.Rows[0]; r.State != nil || r.Err == nil || !strings.Contains(r.Err.Error(), "the directory is not read whole: the entry of X is not used") {
		t.Errorf("got %+v (%v), want that it is not known", r.State, r.Err)
	}
}
