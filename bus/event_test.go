// SPDX-License-Identifier: Apache-2.0

package bus_test

import (
	"errors"
	"io"
	"net/netip"
	"strings"
	"testing"

	"github.com/nats-io/nuid"

	"tagbus/bus"
	"tagbus/tags"
)

func TestEvent_String_readsWell(t *testing.T) {
	peer := &bus.Peer{Instance: "id", Name: "readout", Host: "host1", PID: 7, Addr: netip.MustParseAddrPort("10.0.0.1:80")}
	tests := []struct {
		name  string
		event bus.Event
		want  string
	}{
		{"with a peer and tags", bus.Event{Kind: bus.Subscribed, Peer: peer, Tags: tags.Of(1)}, "subscribed readout@host1:7 (10.0.0.1:80) tags 0x0000000000000001"},
		{"two publishers of a tag", bus.Event{Kind: bus.Duplicate, Peer: peer, Other: &bus.Peer{Name: "old"}, Tags: tags.Of(1), Err: bus.ErrDuplicate}, "duplicate readout@host1:7 (10.0.0.1:80) and old tags 0x0000000000000001: bus: two publishers serve the same tags: stop one of them, or choose one by SubscriptionConfig.Duplicates"},
		{"again after a loss", bus.Event{Kind: bus.Resubscribed, Peer: peer, Tags: tags.Of(1)}, "resubscribed readout@host1:7 (10.0.0.1:80) tags 0x0000000000000001"},
		{"a gap", bus.Event{Kind: bus.Gap, Peer: peer, Tag: 2, Count: 5, Err: bus.ErrConnectionLost}, "gap readout@host1:7 (10.0.0.1:80) 5 messages of tag 0x0000000000000002: bus: published while the connection was lost"},
		{"an end without loss", bus.Event{Kind: bus.Lost, Peer: peer}, "left readout@host1:7 (10.0.0.1:80)"},
		{"an end with loss", bus.Event{Kind: bus.Lost, Peer: &bus.Peer{Instance: "id"}, Err: &bus.UnconfirmedError{Messages: 3, Err: io.ErrUnexpectedEOF}}, "lost id: bus: 3 messages unconfirmed: unexpected EOF"},
		{"a name that would clear the screen", bus.Event{Kind: bus.Connected, Peer: &bus.Peer{Name: "\x1b[2J", Host: "h\n"}}, `connected "\x1b[2J"@"h\n"`},
		{"a connection", bus.Event{Kind: bus.Connected, Peer: &bus.Peer{Name: "daq", Backend: "shm"}}, "connected daq over shm"},
		{"the end of one", bus.Event{Kind: bus.Goodbye, Peer: &bus.Peer{Name: "daq", Backend: "shm"}}, "goodbye daq"},
		{"a peer without name", bus.Event{Kind: bus.Connected, Peer: &bus.Peer{Instance: "KbC6LATNok1u2ThyAEDEbA", Host: "host1", PID: 7}}, "connected hyAEDEbA@host1:7"},
		{"dropped events", bus.Event{Kind: bus.Problem, Err: &bus.EventsDroppedError{Events: 3}}, "problem: bus: too many events wait for OnEvent, the newest were dropped: 3: return from OnEvent and from handlers sooner, and look for peers that connect or subscribe again and again"},
		{"an unknown kind", bus.Event{Kind: 99, Err: errors.New("x")}, "event 99: x"},
	}
	for _, test := range tests {
		if got := test.event.String(); got != test.want {
			t.Errorf("%s: got %q, want %q", test.name, got, test.want)
		}
	}
	many := make([]tags.Tag, 1000)
	for i := range many {
		many[i] = tags.Tag(2 * i)
	}
	if got := (bus.Event{Kind: bus.Subscribed, Tags: tags.Of(many...)}).String(); len(got) > 200 || !strings.Contains(got, "1000 parts") {
		t.Errorf("a large set: got %d bytes: %s", len(got), got)
	}
}

// TestShortInstance_differsWithinAProcess: they have their beginning in common.
func TestShortInstance_differsWithinAProcess(t *testing.T) {
	seen := make(map[string]bool)
	for range 1000 {
		seen[bus.ShortInstance(nuid.Next())] = true
	}
	if len(seen) != 1000 {
		t.Errorf("got %d short instances of 1000", len(seen))
	}
	if got := bus.ShortInstance("id"); got != "id" {
		t.Errorf("a short one: got %q, want it whole", got)
	}
}
