// SPDX-License-Identifier: Apache-2.0

package web

import (
	"encoding/json"
	"net/netip"
	"strings"
	"testing"

	"tagbus/bus/directory"
	"tagbus/bus/state"
	"tagbus/cmd/internal/overview"
)

// TestTheTransportOfEachConnection, and of a subscriber those of all of its connections.
func TestTheTransportOfEachConnection(t *testing.T) {
	row := func(id string, backend string) overview.Row {
		return overview.Row{
			Entry: directory.Entry{
				Instance: id, Backend: "tcp", Addresses: []netip.AddrPort{netip.MustParseAddrPort("10.0.0.1:7")},
				Ways: []directory.Way{{Backend: "shm", Addresses: []netip.AddrPort{netip.MustParseAddrPort("127.1.2.3:7")}}},
			},
			State: &state.State{Role: state.Publisher, Instance: id, Host: "pc-1", Connected: 1, Peers: []state.Peer{{Instance: "S1", Host: "pc-1", Backend: backend}}},
		}
	}
	m := newModel(overview.Overview{Rows: []overview.Row{row("P1", "shm"), row("P2", "tcp\x1b"), row("P3", "tcp")}})
	const why = "shm: the subscriber does not say why"
	for i, want := range []string{`"via":["shm"]`, `"via":["\"tcp\\x1b\""]`, `"via":["tcp"],"unused":["` + why + `"]`} {
		text, err := json.Marshal(m.links[i])
		if err != nil || !strings.Contains(string(text), want) || strings.Contains(string(text), "unused") != strings.Contains(want, "unused") {
			t.Errorf("connection %d: got %s, %v, want %s in it", i, text, err, want)
		}
	}
	if q := m.knownPeer["S1"]; len(q.Via) != 3 || len(q.Unused) != 1 || q.Unused[0] != why {
		t.Errorf("got %+v, want the transports of all connections", q)
	}
	d := detail{Process: m.known["P3"]}
	d.answered(m.known["P3"].row.State)
	if s := d.State; len(s.Ways) != 1 || s.Ways[0] != "127.1.2.3:7 over shm" || len(s.Unused) != 1 || s.Unused[0].Of != 1 || s.Unused[0].Backend+": "+s.Unused[0].Reason != why {
		t.Errorf("got %+v, want its other way, and that a connection does not use it", s)
	}
	if e := entryOf(m.known["P3"].row); len(e.Ways) != 1 || e.Ways[0].Backend != "shm" || len(e.Ways[0].Addresses) != 1 || e.Ways[0].Addresses[0] != "127.1.2.3:7" {
		t.Errorf("API: got %+v, want its other way", e)
	}
}
