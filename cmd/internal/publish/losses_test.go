// SPDX-License-Identifier: Apache-2.0

package publish

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"tagbus/bus"
	"tagbus/cmd/internal/cli"
)

// An internal test: it takes more subscribers than a test of the command has.
func TestSubscribersThatLostNothingAreNoWarning(t *testing.T) {
	tests := []struct {
		name   string
		losses bus.Losses
		level  string
	}{
		{"left out on purpose", bus.Losses{LeftOut: 3}, " INFO "},
		{"lost", bus.Losses{Full: 3}, " WARN "},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var out bytes.Buffer
			r := run{console: cli.NewConsole("publisher", &out, cli.Log{})}
			all := make([]subscriberSummary, maxSubscriberLines+2)
			for i := range all {
				all[i].losses = test.losses
			}
			r.saySubscribers(all)
			r.console.Close()
			lines := strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
			if last := lines[len(lines)-1]; !strings.HasSuffix(last, test.level+"publisher: 2 subscribers more did not get everything: --json names all") {
				t.Errorf("got %q, want%sas the level of 2 more", last, test.level)
			}
			if n := strings.Count(out.String(), test.level); n != maxSubscriberLines+1 {
				t.Errorf("got %d lines with%s, want %d", n, test.level, maxSubscriberLines+1)
			}
		})
	}
}

// What subscribers lose of what they have received is no loss of the publisher.
func TestTheSummaryHasWhatSubscribersDrop(t *testing.T) {
	for _, test := range []struct {
		dropped bus.Dropped
		want    string
	}{
		{bus.Dropped{}, " 2 lost (2 too slow); ended by count"},
		{bus.Dropped{Overflowed: 1200}, " 2 lost (2 too slow), 1,200 more in subscribers' own queues; ended by count"},
		{bus.Dropped{Overflowed: 1, Panicked: 3}, " 2 lost (2 too slow), 1 more in subscribers' own queues, 3 more in their handlers, which panicked; ended by count"},
	} {
		s := summary{losses: bus.Losses{Full: 2}, Dropped: dropped(test.dropped), Ended: "count"}
		if got := s.String(); !strings.HasSuffix(got, test.want) {
			t.Errorf("got %q, want %q at its end", got, test.want)
		}
	}
}

// A subscriber that has lost messages in its own queue is named as one that did not get them.
func TestASubscriberThatLosesInItsOwnQueueIsNamed(t *testing.T) {
	lane := func(d bus.Dropped, l bus.Losses) []bus.LaneState {
		return []bus.LaneState{{Policy: bus.Policy{Kind: bus.DropOldest}, Sent: 50_000, Losses: l, Dropped: d}}
	}
	all := subscribersOf(bus.PublisherStats{Subscribers: []bus.SubscriberState{
		{Peer: bus.Peer{Name: "good", Host: "pc"}, Lanes: lane(bus.Dropped{}, bus.Losses{})},
		{Peer: bus.Peer{Name: "few", Host: "pc"}, Lanes: lane(bus.Dropped{}, bus.Losses{Full: 3})},
		{Peer: bus.Peer{Name: "broken", Host: "pc"}, Lanes: lane(bus.Dropped{Overflowed: 5, Panicked: 2}, bus.Losses{})},
		{Peer: bus.Peer{Name: "ovf", Host: "pc"}, Lanes: lane(bus.Dropped{Overflowed: 37_892}, bus.Losses{})},
	}})
	var out bytes.Buffer
	r := run{console: cli.NewConsole("publisher", &out, cli.Log{LogFormat: cli.LogJournal})}
	r.saySubscribers(all)
	r.console.Close()
	var got []string
	for line := range strings.Lines(out.String()) {
		got = append(got, strings.Split(line, " kind=")[0])
	}
	want := []string{
		"<4>ovf@pc, drop-oldest: 50,000 messages sent, 0 lost, 37,892 more in its own queue",
		"<4>broken@pc, drop-oldest: 50,000 messages sent, 0 lost, 5 more in its own queue, 2 more in its handlers, which panicked",
		"<4>few@pc, drop-oldest: 50,000 messages sent, 3 lost (3 too slow)",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if all[0].Dropped.Overflowed != 37_892 {
		t.Errorf("got %+v in the summary, want what was lost there", all[0])
	}
}
