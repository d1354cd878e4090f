// SPDX-License-Identifier: Apache-2.0

package subscribe

import (
	"errors"
	"io"
	"testing"
	"time"

	"tagbus/bus"
	"tagbus/bus/directory"
	"tagbus/cmd/internal/cli"
	"tagbus/cmd/internal/session"
	"tagbus/internal/testkit"
	"tagbus/tags"
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
		testkit.Must(t, r.console.Close())
		if n := r.presence.Away(); n != 1 {
			t.Fatalf("got %d publishers away behind the line that one is lost, want 1", n)
		}
	}
}

// oneListed is a directory with one publisher.
type oneListed struct{ directory.Directory }

func (oneListed) List() ([]directory.Entry, error) {
	return []directory.Entry{{Instance: "a", Tags: tags.Of(1)}}, nil
}

// TestRun_answersAtTheEnd: the first messages of a publisher may be those that end the run. Its events come then, and it was said not to
// have answered.
func TestRun_answersAtTheEnd(t *testing.T) {
	now := time.Now()
	r := &run{flags: new(Flags), console: cli.NewConsole("subscriber", io.Discard, cli.Log{}), ending: session.NewEnding()}
	r.presence = session.Presence{Wanted: tags.Of(1), Began: now.Add(-time.Minute)}
	r.ending.End("count", nil)
	r.onEvent(bus.Event{Kind: bus.Connected, Peer: &bus.Peer{Instance: "a"}})
	r.presence.Settle(session.ListedBy(oneListed{}), now)
	if err := r.presence.Refusal("publisher"); err != nil {
		t.Errorf("got %v, want nothing of a publisher that has answered", err)
	}
	testkit.Must(t, r.console.Close())
}
