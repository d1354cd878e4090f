// SPDX-License-Identifier: Apache-2.0

package rec_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"tagbus/cmd/internal/rec/rectest"
	"tagbus/recording"
	"tagbus/tags"
)

func TestMergeOfParts(t *testing.T) {
	b := newBed(t)
	h := header(1)
	b.record("a.tbr", h, join(joined(0, alice, 1), msgs(0, alice, 1, 1, 5), gap(60, alice, 1, 2, recording.CauseLeftOut))...)
	h.Part = 1
	b.record("b.tbr", h, join(msgs(100, alice, 1, 8, 9), msg(110, alice, 1, 9), stop(200))...)
	b.wants("merge b.tbr a.tbr --out c.tbr", 0, "c.tbr: 7 messages and 3 events of 1 recording; 1 duplicate dropped\n")
	b.wantLines("c.tbr", "joined alice@host1:11 (10.0.0.1:4001) tags 0x1",
		"0x1 1 alice 1", "0x1 2 alice 2", "0x1 3 alice 3", "0x1 4 alice 4", "0x1 5 alice 5",
		"gap alice@host1:11 (10.0.0.1:4001) 2 messages of tag 0x1: left-out", "0x1 8 alice 8", "0x1 9 alice 9", "stopped: by a signal")
	if r := rectest.Verify(b, b.path("c.tbr")); !r.Whole() {
		t.Errorf("got %v, want it whole", r)
	}
	b.says("merge a.tbr b.tbr a.tbr --out d.tbr", 0, "a.tbr is the same part as a.tbr, and is left out", "1 duplicate dropped")
	b.says("merge b.tbr --out e.tbr --json", 1, `"missing":["part 0 of recording`)
	if r := rectest.Verify(b, b.path("e.tbr")); r.Whole() {
		t.Errorf("got %v, want it not whole", r)
	}
}

// TestMergeOfTwoRecorders: what one has lost, the other has.
func TestMergeOfTwoRecorders(t *testing.T) {
	b := newBed(t)
	b.record("a.tbr", header(1), join(joined(0, alice, 1, 2, 3), event(1, recording.Event{Kind: recording.Position, Peer: alice, Tag: 1, Count: 4}),
		msgs(10, alice, 1, 5, 6), gap(30, alice, 1, 3, recording.CauseFull), msgs(50, alice, 1, 10, 11),
		event(75, recording.Event{Kind: recording.Lost, Peer: alice}), stop(80))...)
	b.record("b.tbr", header(2), join(joined(0, alice, 1, 2, 3),
		msgs(25, alice, 1, 6, 7), gap(40, alice, 1, 1, recording.CauseConnection), msgs(55, alice, 1, 9, 14), ended(200, alice), stop(210))...)
	b.wants("merge a.tbr b.tbr --out c.tbr", 0, "c.tbr: 9 messages and 7 events of 2 recordings; 3 duplicates dropped\n")
	b.wantLines("c.tbr", "joined alice@host1:11 (10.0.0.1:4001) tags 0x1-0x3",
		"position alice@host1:11 (10.0.0.1:4001) tag 0x1 begins behind message 4",
		"0x1 5 alice 5", "0x1 6 alice 6", "0x1 7 alice 7",
		"gap alice@host1:11 (10.0.0.1:4001) 1 messages of tag 0x1: full", "0x1 9 alice 9", "0x1 10 alice 10", "0x1 11 alice 11",
		"stopped: by a signal",
		"0x1 12 alice 12", "0x1 13 alice 13", "0x1 14 alice 14",
		"ended alice@host1:11 (10.0.0.1:4001)", "stopped: by a signal", "stopped: merged from 2 recordings")
	if r := rectest.Verify(b, b.path("c.tbr")); r.Total().Unexplained > 0 || r.Total().Lost.Lost() != 1 || len(r.Reasons) != 1 {
		t.Errorf("got %v, want one message lost and nothing else", r)
	}
}

// TestMergeFindsWhatAllRecordersHave: each message is in one of three recordings at least,
// or in none and named as lost by all.
func TestMergeFindsWhatAllRecordersHave(t *testing.T) {
	for seed := range uint64(50) {
		r := rand.New(rand.NewPCG(seed, 1))
		b := newBed(t)
		const recorders, sent = 3, 200
		lost := make(map[string]bool) // by all
		parts := make([][]recording.Record, recorders)
		missed := make([]map[tags.Tag]uint64, recorders)
		counters := make(map[tags.Tag]uint64)
		for i := range parts {
			parts[i] = join(joined(0, alice, 1, 2, 3))
			missed[i] = make(map[tags.Tag]uint64)
		}
		for n := range sent {
			tag := tags.Tag(1 + r.IntN(3))
			counters[tag]++
			has := r.IntN(1 << recorders)
			if r.IntN(4) > 0 {
				has = 1<<recorders - 1 // mostly all have it
			}
			lost[fmt.Sprintf("%v %d", tag, counters[tag])] = has == 0
			for i := range parts {
				if has&(1<<i) == 0 {
					missed[i][tag]++
					continue
				}
				if k := missed[i][tag]; k > 0 {
					parts[i] = append(parts[i], gap(3*n, alice, tag, k, recording.CauseFull))
					missed[i][tag] = 0
				}
				parts[i] = append(parts[i], msg(3*n+r.IntN(3), alice, tag, counters[tag]))
			}
		}
		var files []string
		for i := range parts {
			for tag := tags.Tag(1); tag <= 3; tag++ {
				if k := missed[i][tag]; k > 0 {
					parts[i] = append(parts[i], gap(3*sent, alice, tag, k, recording.CauseFull))
				}
			}
			name := fmt.Sprintf("%d.tbr", i)
			files = append(files, name)
			b.record(name, header(byte(i+1)), append(parts[i], ended(3*sent, alice), stop(3*sent))...)
		}
		b.says("merge --out all.tbr "+strings.Join(files, " "), 0)
		want := 0
		for _, l := range lost {
			if l {
				want++
			}
		}
		report := rectest.Verify(b, b.path("all.tbr"))
		sum := report.Total()
		if sum.Messages != uint64(sent-want) || sum.Unexplained+sum.Repeated+sum.Backward > 0 || sum.Lost.Lost() != uint64(want) {
			t.Fatalf("seed %d: got %d messages and %v, want %d messages and %d lost", seed, sum.Messages, report, sent-want, want)
		}
	}
}

// TestMergeKnowsWhatIsNoPartOfARecording: a publisher that was away, and goes on.
func TestMergeKnowsWhatIsNoPartOfARecording(t *testing.T) {
	b := newBed(t)
	b.record("a.tbr", header(1), join(msgs(0, alice, 1, 1, 3), gap(31, alice, 1, 1, recording.CauseFull),
		event(35, recording.Event{Kind: recording.Position, Peer: alice, Tag: 1, Count: 10}), msgs(40, alice, 1, 11, 12), stop(90))...)
	b.record("b.tbr", header(2), join(msgs(60, alice, 1, 12, 13), stop(91))...)
	b.says("merge a.tbr b.tbr --out c.tbr", 0, "6 messages")
	if r := rectest.Verify(b, b.path("c.tbr")); len(r.Reasons) != 1 || r.Total().Lost.Lost() != 1 || r.Total().Unexplained > 0 {
		t.Errorf("got %v, want one message lost", r)
	}
	b.record("d.tbr", header(3), join(msgs(5, alice, 1, 4, 8), stop(92))...)
	b.says("merge a.tbr d.tbr b.tbr --out e.tbr", 0, "11 messages")
	if r := rectest.Verify(b, b.path("e.tbr")); r.Total().Unexplained > 0 || r.Total().Backward > 0 || r.Total().Messages != 11 {
		t.Errorf("got %v, want 11 messages in their order", r)
	}
}

func TestMergeWaitsWithinTheBuffer(t *testing.T) {
	b := newBed(t)
	b.record("a.tbr", header(1), join(msg(0, alice, 1, 1), msgs(10, alice, 1, 3, 40))...)
	b.record("b.tbr", header(2), join(msgs(5000, alice, 1, 1, 3), stop(5100))...)
	b.says("merge a.tbr b.tbr --out c.tbr --buffer 2KiB", 1, "messages behind 1 wait for one of another recording", "raise --buffer")
	b.says("merge a.tbr b.tbr --out c.tbr", 0, "40 messages")
	if r := rectest.Verify(b, b.path("c.tbr")); !r.Whole() {
		t.Errorf("got %v, want it whole", r)
	}
}

// TestMergeIsHonest: a recording that ends early is made good only by one that goes on.
func TestMergeIsHonest(t *testing.T) {
	full := event(60, recording.Event{Kind: recording.Stopped, Failed: true, Text: "the disk is full"})
	tests := []struct {
		name  string
		other []recording.Record
		tags  tags.Set
		why   string
	}{
		{"another one goes on", join(msgs(0, alice, 1, 1, 9), stop(100)), tags.Of(1, 2, 3), ""},
		{"another one ends before", join(msgs(0, alice, 1, 1, 3), stop(40)), tags.Of(1, 2, 3), "the disk is full"},
		{"another one has other tags", join(msgs(0, alice, 2, 1, 9), stop(100)), tags.Of(2), "the disk is full"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			b := newBed(t)
			b.record("a.tbr", header(1), append(msgs(0, alice, 1, 1, 5), full)...)
			h := header(2)
			h.Tags = test.tags
			b.record("b.tbr", h, test.other...)
			status := 0
			if test.why != "" {
				status = 1 // as verify of what was written
			}
			b.says("merge a.tbr b.tbr --out c.tbr", status)
			r := rectest.Verify(b, b.path("c.tbr"))
			if why := strings.Join(r.Reasons, "\n"); r.Whole() != (test.why == "") || !strings.Contains(why, test.why) {
				t.Errorf("got %q, want %q", why, test.why)
			}
		})
	}
}
