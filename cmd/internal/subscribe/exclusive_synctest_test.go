// SPDX-License-Identifier: Apache-2.0

package subscribe

import (
	"bytes"
	"errors"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"tagbus/bus"
	"tagbus/bus/directory"
	"tagbus/bus/directory/memory"
	"tagbus/cmd/internal/cli"
	"tagbus/cmd/internal/session"
	"tagbus/internal/testkit"
	"tagbus/tags"
)

// announce puts an entry of tag 5 into a directory.
func announce(t *testing.T, dir directory.Directory, role directory.Role, instance, name string, set tags.Set) directory.Registration {
	t.Helper()
	registered, err := dir.Announce(directory.Entry{
		Instance: instance, Name: name, Host: "host1", PID: 7, Backend: "tcp", Role: role, Tags: set,
		Addresses: []netip.AddrPort{netip.MustParseAddrPort("10.0.0.1:80")}, PageBytes: 1, MaxMessageBytes: 1,
	})
	testkit.Must(t, err)
	return registered
}

func TestTheFirstReceiverOwnsATag(t *testing.T) {
	both := tags.Of(5, 6)
	dir := memory.New()
	defer dir.Close()
	announce(t, dir, directory.Publisher, "a", "publishes", both)
	announce(t, dir, directory.Receiver, "b", "elsewhere", tags.Of(7))
	owners := findOwners(dir, both)
	if owned := owners.first("", false); owned != nil {
		t.Errorf("no receiver of the tags: got %v", owned)
	}
	announce(t, dir, directory.Receiver, "m", "", both)
	if owned := owners.first("m", false); owned != nil {
		t.Errorf("itself: got %v", owned)
	}
	after := announce(t, dir, directory.Receiver, "n", "after", both)
	if owned := owners.first("m", false); owned != nil {
		t.Errorf("one that came at the same time and gives way: got %v", owned)
	}
	const chosen = "--exclusive: after@host1:7 (10.0.0.1:80) receives 0x0000000000000005-0x0000000000000006 already: stop it, or leave --exclusive out to wait until it has ended"
	if owned := owners.first("m", true); owned == nil || owned.Error() != chosen {
		t.Errorf("one that came at the same time, and that a sender has chosen: got %v, want %s", owned, chosen)
	}
	before := announce(t, dir, directory.Receiver, "c", "before", tags.Of(6, 7))
	const want = "--exclusive: before@host1:7 (10.0.0.1:80) receives 0x0000000000000006 already: stop it, or leave --exclusive out to wait until it has ended"
	if owned := owners.first("m", false); owned == nil || owned.Error() != want {
		t.Errorf("one that came at the same time: got %v, want %s", owned, want)
	}
	testkit.Must(t, before.Withdraw())
	if owned := findOwners(dir, both).first("m", false); owned == nil || owned.Error() != chosen {
		t.Errorf("one that was there before: got %v, want %s", owned, chosen)
	}
	testkit.Must(t, after.Withdraw())
	if owned := owners.first("m", false); owned != nil {
		t.Errorf("all others have ended: got %v", owned)
	}
}

// connected is a subscriber of which the test says how many peers it has.
type connected struct {
	subscriber
	peers atomic.Int64
}

func (c *connected) Stats() bus.SubscriberStats {
	return bus.SubscriberStats{Publishers: int(c.peers.Load())}
}

func TestAReceiverThatWaitsSaysSoEachMinute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := memory.New()
		defer dir.Close()
		first := announce(t, dir, directory.Receiver, "first", "pump", tags.Of(5))
		owners := findOwners(dir, tags.Of(5))
		var out bytes.Buffer
		s := new(connected)
		r := &run{flags: new(Flags), console: cli.NewConsole("subscriber", &out, cli.Log{LogFormat: cli.LogJournal}), subscriber: s, ending: session.NewEnding()}
		r.owned = func() *ownedError { return owners.first("second", false) }
		r.sayOwned(r.owned(), "waiting")
		done := make(chan struct{})
		go func() { defer close(done); r.tellOwner() }()
		time.Sleep(2*time.Minute + time.Second)
		s.peers.Store(1) // a sender has chosen this receiver
		time.Sleep(time.Minute)
		s.peers.Store(0)
		if err := first.Withdraw(); err != nil {
			t.Error(err)
		}
		time.Sleep(time.Minute)
		r.ending.End("count", nil)
		<-done
		if err := r.console.Close(); err != nil {
			t.Error(err)
		}
		const rest = " for pump@host1:7 (10.0.0.1:80) to end: it receives 0x0000000000000005, and a tag has one receiver (--exclusive ends instead)" +
			" kind=waiting name=pump instance=first host=host1 pid=7 addr=10.0.0.1:80\n"
		if want := "<4>waiting" + rest + "<4>still waiting after 1m0s" + rest + "<4>still waiting after 2m0s" + rest; out.String() != want {
			t.Errorf("got\n%s\nwant\n%s", out.String(), want)
		}
	})
}

// TestASenderSaysWhichReceiverOwnsATag: also one that came later.
func TestASenderSaysWhichReceiverOwnsATag(t *testing.T) {
	said := &bus.DuplicateError{Tags: tags.Of(5), First: &bus.Peer{Name: "late"}, Second: &bus.Peer{Name: "early"}}
	refusal := bus.Event{Kind: bus.Refused, Err: errors.Join(bus.ErrOwned, said)}
	other := bus.Event{Kind: bus.Refused, Err: bus.ErrPolicyRefused}

	r := &run{flags: &Flags{Exclusive: true}, ending: session.NewEnding()}
	r.seeOwner(other)
	if r.ending.Reason() != "" {
		t.Errorf("another refusal: got the end %q, want none", r.ending.Reason())
	}
	r.seeOwner(refusal)
	if r.ending.Reason() != "error" || !errors.Is(r.ending.Err(), bus.ErrOwned) || !strings.HasPrefix(r.ending.Err().Error(), "--exclusive: ") {
		t.Errorf("--exclusive: got the end %q, %v", r.ending.Reason(), r.ending.Err())
	}

	r = &run{flags: new(Flags), ending: session.NewEnding()}
	for _, step := range []struct {
		event bus.Event
		want  bool
	}{{other, false}, {refusal, true}, {other, true}, {bus.Event{Kind: bus.Subscribed}, false}} {
		if r.seeOwner(step.event); r.refused.Load() != step.want || r.ending.Reason() != "" {
			t.Errorf("%v: got refused %v and the end %q, want %v and none", step.event, r.refused.Load(), r.ending.Reason(), step.want)
		}
	}
}
