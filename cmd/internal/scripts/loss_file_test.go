// SPDX-License-Identifier: Apache-2.0

package scripts_test

import (
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"tagbus/bus/state"
	"tagbus/cmd/internal/lossfile"
)

// lossesIn returns how many messages a file says were lost, by role of the program that has
// written it, and how many records it has.
func lossesIn(t *testing.T, path string) (lost map[state.Role]uint64, records []lossfile.Record) {
	t.Helper()
	lost = make(map[state.Role]uint64)
	bad, err := lossfile.Read(path, func(r lossfile.Record) {
		lost[r.Role] += r.Count
		records = append(records, r)
	})
	if err != nil || bad > 0 {
		t.Fatalf("%s: got %d bad lines and error %v, want none", path, bad, err)
	}
	return lost, records
}

// TestLossFileHasWhatTheSummariesHave: a publisher and a subscriber that is stopped for a
// while share a file. Each writes what it has counted, and names the other.
func TestLossFileHasWhatTheSummariesHave(t *testing.T) {
	notShort(t)
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, "losses")
	bus := filepath.Join(dir, "bus")
	sub := run(t, "subscriber", "subscriber", "--bus", bus, "--tags", "1-4", "--name", "readout", "--until-goodbye", "--policy", "drop-newest", "--loss-file", file, "--json")
	pub := run(t, "publisher", "publisher", "--bus", bus, "--tags", "1-4", "--name", "det", "--emulate", "4KiB", "--rate", "5k", "--wait-subscribers", "1",
		"--queue-bytes", "2MiB", "--heartbeat-timeout", "60s", "--loss-file", file, "--metrics", "127.0.0.1:0", "--json")
	sub.await("subscribed .* tags")
	sub.signal(syscall.SIGSTOP)
	for pub.metric(`tagbus_publisher_lost_messages_total{cause="full"}`) < 1000 {
		idle(100 * time.Millisecond)
	}
	sub.signal(syscall.SIGCONT)
	idle(1500 * time.Millisecond)
	pub.signal(syscall.SIGTERM)
	pub.finish(0)
	sub.finish(0)
	var there publisherSummary
	var here subscriberSummary
	pub.summary(&there)
	sub.summary(&here)
	lost, records := lossesIn(t, file)
	if want := there.Subscribers[0].lost(); lost[state.Publisher] != want || want < 1000 {
		t.Errorf("the publisher has written %d lost messages, want those of its summary, %d", lost[state.Publisher], want)
	}
	if lost[state.Subscriber] != here.Lost || here.Lost < 1000 {
		t.Errorf("the subscriber has written %d lost messages, want those of its summary, %d", lost[state.Subscriber], here.Lost)
	}
	for _, r := range records {
		if r.Tag == nil || *r.Tag < 1 || *r.Tag > 4 || r.Policy != "drop-newest" || r.Cause != state.Full || r.First.After(r.Last) || r.Last.After(r.Time) ||
			r.Publisher().Instance != there.Instance || r.Publisher().Name != "det" || r.Subscriber().Name != "readout" || r.Host == "" || r.Peer.Host == "" {
			t.Fatalf("got a record %+v", r)
		}
	}
}

// TestLossFileOutlivesAKill kills both programs after messages were lost: the file has all
// that was lost more than a second ago.
func TestLossFileOutlivesAKill(t *testing.T) {
	notShort(t)
	t.Parallel()
	dir := t.TempDir()
	bus := filepath.Join(dir, "bus")
	sub := run(t, "subscriber", "subscriber", "--bus", bus, "--tags", "1-4", "--policy", "drop-newest",
		"--loss-file", filepath.Join(dir, "subscriber.jsonl"), "--metrics", "127.0.0.1:0")
	pub := run(t, "publisher", "publisher", "--bus", bus, "--tags", "1-4", "--emulate", "4KiB", "--rate", "5k", "--wait-subscribers", "1",
		"--queue-bytes", "2MiB", "--heartbeat-timeout", "60s", "--loss-file", filepath.Join(dir, "publisher.jsonl"), "--metrics", "127.0.0.1:0")
	sub.await("subscribed .* tags")
	lost := func(p *program, role state.Role) uint64 {
		for {
			if n := p.metric("tagbus_" + string(role) + `_lost_messages_total{cause="full"}`); n > 0 {
				return uint64(n)
			}
			idle(50 * time.Millisecond)
		}
	}
	sub.signal(syscall.SIGSTOP)
	lost(pub, state.Publisher)
	sub.signal(syscall.SIGCONT)
	before := map[state.Role]uint64{state.Subscriber: lost(sub, state.Subscriber), state.Publisher: lost(pub, state.Publisher)}
	idle(2 * time.Second) // a second, and what a busy machine takes to write
	for role, p := range map[state.Role]*program{state.Subscriber: sub, state.Publisher: pub} {
		p.signal(syscall.SIGKILL)
		p.finish(-1)
		if got, _ := lossesIn(t, filepath.Join(dir, string(role)+".jsonl")); got[role] < before[role] {
			t.Errorf("%s: the file has %d lost messages, want the %d that were lost long before", role, got[role], before[role])
		}
	}
}
