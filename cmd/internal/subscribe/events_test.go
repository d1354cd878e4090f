// SPDX-License-Identifier: Apache-2.0

package subscribe

import (
	"errors"
	"testing"

	"tagbus/bus"
	"tagbus/cmd/internal/cli"
	"tagbus/cmd/internal/session"
)

// reader ends the run as soon as it has read something, as a script does that waits for a
// line.
type reader struct{ ending *session.Ending }

func (r reader) Write(b []byte) (int, error) {
	r.ending.End("signal", nil)
	return len(b), nil
}

// TestWhatWasSaidCounts: a run that is ended because of what it has said has taken that into
// account. It tries often, as the two are concurrent.
func TestWhatWasSaidCounts(t *testing.T) {
	peer := &bus.Peer{Instance: "a"}
	for range 2000 {
		ending := session.NewEnding()
		r := &run{flags: new(Flags), console: cli.NewConsole("subscriber", reader{ending}, cli.Log{LogFormat: cli.LogJournal}), ending: ending}
		r.presence.See(bus.Event{Kind: bus.Subscribed, Peer: peer})
		r.onEvent(bus.Event{Kind: bus.Lost, Peer: peer, Err: errors.New("killed")})
		<-ending.Done()
		if err := r.console.Close(); err != nil {
			t.Fatal(err)
		}
		if n := r.presence.Away(); n != 1 {
			t.Fatalf("got %d publishers away behind the line that one is lost, want 1", n)
		}
	}
}
