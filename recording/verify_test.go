// SPDX-License-Identifier: Apache-2.0

package recording_test

import (
	"bytes"
	"errors"
	"slices"
	"strings"
	"testing"

	"tagbus/recording"
)

// counters returns messages of tag 1 of alice with these counters.
func counters(all ...uint64) (records []recording.Record) {
	for i, c := range all {
		records = append(records, message(i, alice, 1, c, "data"))
	}
	return records
}

// aliceEvent returns an event of alice about tag 1.
func aliceEvent(kind recording.EventKind, count uint64, cause recording.Cause) recording.Record {
	e := recording.Event{Kind: kind, Peer: alice, Count: count, Cause: cause}
	if kind == recording.Gap || kind == recording.Position {
		e.Tag = 1
	}
	return event(0, e)
}

func join(parts ...[]recording.Record) []recording.Record { return slices.Concat(parts...) }

func one(r recording.Record) []recording.Record { return []recording.Record{r} }

func TestVerify_findsEachHole(t *testing.T) {
	type numbers struct{ messages, lost, leftOut, missing, unexplained, repeated, backward uint64 }
	gap := func(n uint64, c recording.Cause) []recording.Record { return one(aliceEvent(recording.Gap, n, c)) }
	position := func(n uint64) []recording.Record { return one(aliceEvent(recording.Position, n, 0)) }
	state := func(k recording.EventKind) []recording.Record { return one(aliceEvent(k, 0, 0)) }
	tests := []struct {
		name    string
		records []recording.Record
		want    numbers
		reason  string // part of it; empty: it is whole
	}{
		{"nothing", nil, numbers{}, ""},
		{"all messages", counters(1, 2, 3), numbers{messages: 3}, ""},
		{"a recording that begins late", counters(7, 8), numbers{messages: 2}, ""},
		{"an unexplained hole", counters(1, 2, 5), numbers{messages: 3, missing: 2, unexplained: 2}, "2 messages are missing, and no event says why"},
		{"a hole with a gap", join(counters(1, 2), gap(2, recording.CauseFull), counters(5)), numbers{messages: 3, lost: 2, missing: 2}, "2 messages are lost: full 2"},
		{"a gap that comes late", join(counters(1, 2, 5), gap(2, recording.CauseMemory)), numbers{messages: 3, lost: 2, missing: 2}, "2 messages are lost: memory 2"},
		{"a gap that explains a part", join(counters(1, 2, 5), gap(1, recording.CauseQueueFull)), numbers{messages: 3, lost: 1, missing: 2, unexplained: 1}, "1 message is missing"},
		{"a gap behind the last message", join(counters(1, 2), gap(9, recording.CauseEnded)), numbers{messages: 2, lost: 9}, "ended 9"},
		{"a gap of a cause of a newer version", join(counters(1), gap(1, 200)), numbers{messages: 1, lost: 1}, "other 1"},
		{"left out on purpose", join(counters(1, 11, 21), gap(18, recording.CauseLeftOut)), numbers{messages: 3, leftOut: 18, missing: 18}, ""},
		{"behind a position", join(position(6), counters(7, 8)), numbers{messages: 2}, ""},
		{"a hole behind a position", join(position(4), counters(7)), numbers{messages: 1, missing: 2, unexplained: 2}, "2 messages are missing"},
		{"subscribed again", join(counters(1, 2), position(50), counters(51)), numbers{messages: 3}, ""},
		{"an old position", join(counters(1, 2), position(1), counters(3)), numbers{messages: 3}, ""},
		{"a message twice", counters(1, 2, 2, 3), numbers{messages: 4, repeated: 1}, "1 message is there twice"},
		{"messages out of order", counters(1, 3, 2, 4), numbers{messages: 4, missing: 1, unexplained: 1, backward: 1}, "1 message is out of order"},
		{"a publisher that ended", join(counters(1), state(recording.Ended)), numbers{messages: 1}, ""},
		{"a publisher that vanished", join(counters(1), state(recording.Vanished)), numbers{messages: 1}, "publisher alice@host1:11 (10.0.0.1:4001) vanished"},
		{"a connection that was lost behind the goodbye", join(counters(1), state(recording.Ended), state(recording.Lost)), numbers{messages: 1}, ""},
		{"a publisher that vanished and came back", join(counters(1), state(recording.Vanished), state(recording.Joined), counters(2)), numbers{messages: 2}, ""},
		{"one that vanished again", join(state(recording.Vanished), state(recording.Joined), state(recording.Vanished)), numbers{}, "vanished"},
		{"a connection that was lost at the end", join(state(recording.Joined), counters(1), state(recording.Lost)), numbers{messages: 1}, "before it was back"},
		{"a connection that was lost again", join(state(recording.Joined), state(recording.Lost), state(recording.Lost)), numbers{}, "before it was back"},
		{"a connection that was lost before it had brought anything", state(recording.Lost), numbers{}, ""},
		{"a connection that was lost behind the end without goodbye", join(state(recording.Joined), state(recording.Vanished), state(recording.Lost)), numbers{}, "vanished"},
		{"a connection that came back", join(counters(1), state(recording.Lost), state(recording.Joined), counters(2)), numbers{messages: 2}, ""},
		{"a recorder that stopped", one(event(0, recording.Event{Kind: recording.Stopped, Text: "ended by signal"})), numbers{}, ""},
		{"a recorder that failed", one(event(0, recording.Event{Kind: recording.Stopped, Failed: true, Text: "disk full"})), numbers{}, "disk full"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			b := file(t, recording.Header{}, recording.Config{BlockBytes: 256}, test.records...)
			report, err := recording.Verify(open(t, b))
			must(t, err)
			total := report.Total()
			got := numbers{total.Messages, total.Lost.Lost(), total.Lost[recording.CauseLeftOut], total.Missing, total.Unexplained, total.Repeated, total.Backward}
			if got != test.want {
				t.Errorf("got %+v, want %+v", got, test.want)
			}
			text := report.String()
			if test.reason == "" && (!report.Whole() || !strings.HasPrefix(text, "whole\n")) {
				t.Errorf("got %s, want it whole", text)
			}
			if test.reason != "" && (report.Whole() || !strings.HasPrefix(text, "not whole\n") || !strings.Contains(text, test.reason)) {
				t.Errorf("got %s, want %q", text, test.reason)
			}
		})
	}
}

// TestVerify_countersGoOnOverConnectionsAndParts: a publisher is the same in all blocks and parts,
// with another address too.
func TestVerify_countersGoOnOverConnectionsAndParts(t *testing.T) {
	again := *alice
	again.Addr = bob.Addr
	records := append(counters(1, 2, 3), message(9, &again, 1, 4, ""), message(10, &again, 1, 7, ""), message(11, alice, 1, 8, ""))
	files := parts(t, 3, records)
	report, err := recording.Verify(open(t, files[2]), open(t, files[0]), open(t, files[1]))
	must(t, err)
	if len(report.Series) != 1 || len(report.Publishers) != 1 || len(report.Files) != 3 {
		t.Fatalf("got %d series of %d publishers in %d files, want 1 of 1 in 3", len(report.Series), len(report.Publishers), len(report.Files))
	}
	if s := report.Series[0]; s.Messages != 6 || s.Unexplained != 2 || s.First != 1 || s.Last != 8 {
		t.Errorf("got %+v, want 6 messages from 1 to 8, 2 missing", s)
	}
}

func TestVerify_namesAMissingPart(t *testing.T) {
	files := parts(t, 4, counters(1, 2, 3, 4, 5, 6, 7, 8))
	tests := []struct {
		name string
		have []int
		want string // empty: whole
	}{
		{"all parts", []int{0, 1, 2, 3}, ""},
		{"without the first", []int{1, 2, 3}, "part 0 is missing"},
		{"without one", []int{0, 2, 3}, "part 1 is missing"},
		{"without two", []int{0, 3}, "parts 1 to 2 are missing"},
		{"without the last", []int{0, 1, 2}, "part 3 is missing"},
		{"one twice", []int{0, 1, 1, 2, 3}, "part 1 is there twice"},
		{"no part", nil, "there is no file"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var readers []*recording.Reader
			for _, i := range test.have {
				readers = append(readers, open(t, files[i]))
			}
			report, err := recording.Verify(readers...)
			must(t, err)
			if got := report.Whole(); got != (test.want == "") || !slices.ContainsFunc(append(report.Reasons, ""), func(r string) bool { return r == test.want }) {
				t.Errorf("got %q, want %q", report.Reasons, test.want)
			}
		})
	}
	other := open(t, file(t, recording.Header{}, recording.Config{}))
	if _, err := recording.Verify(open(t, files[0]), other); !errors.Is(err, recording.ErrMixed) {
		t.Errorf("got error %v, want %v", err, recording.ErrMixed)
	}
}

// TestVerify_damageIsInTheReport: a file that was not closed, a header and a block that are
// damaged.
func TestVerify_damageIsInTheReport(t *testing.T) {
	s := smallFile(t, recording.None)
	tests := []struct {
		name   string
		damage func(b []byte) []byte
		want   string
	}{
		{"not closed", func(b []byte) []byte { return b[:s.ends[2]+3] }, "test was not closed: the last block of its recorder is missing (3 bytes behind the last complete one)"},
		{"a damaged header", func(b []byte) []byte { b[s.header-1]++; return b }, "test: recording: test: file header at offset 44: checksum is wrong"},
		{"a damaged block", func(b []byte) []byte { b[s.ends[1]-1]++; return b }, "test: 1 block cannot be read; the first: recording: test: block 1 at offset"},
		{"a hidden block", func(b []byte) []byte { b[s.ends[0]]++; return b[:s.ends[3]] }, "bytes between the blocks cannot be read"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			report, err := recording.Verify(open(t, test.damage(bytes.Clone(s.bytes))))
			must(t, err)
			if !slices.ContainsFunc(report.Reasons, func(r string) bool { return strings.Contains(r, test.want) }) {
				t.Errorf("got %q, want %q", report.Reasons, test.want)
			}
		})
	}
}

func TestVerify_theReportSaysWhatBecameOfThePublishers(t *testing.T) {
	records := numbered(10)
	records = append(records,
		event(100, recording.Event{Kind: recording.Ended, Peer: bob, Failed: true, Text: "disk full"}),
		event(101, recording.Event{Kind: recording.Joined, Peer: alice}),
		message(102, nil, 1, 1, ""))
	report, err := recording.Verify(open(t, file(t, recording.Header{}, recording.Config{}, records...)))
	must(t, err)
	var got []recording.PublisherReport
	for _, p := range report.Publishers {
		if p.Peer != nil {
			peer := *p.Peer
			p.Peer = &peer
		}
		got = append(got, p)
	}
	if len(got) != 3 || got[0].Peer != nil || *got[1].Peer != *alice || got[1].State != recording.Joined ||
		*got[2].Peer != *bob || got[2].State != recording.Ended || !got[2].Failed || got[2].Text != "disk full" {
		t.Errorf("got %+v, want none, alice joined, and bob failed", got)
	}
	if !report.Whole() {
		t.Errorf("got %q, want it whole", report.Reasons)
	}
}

func TestLosses_String_areShownByCause(t *testing.T) {
	var l recording.Losses
	if got := l.String(); got != "none" {
		t.Errorf("got %q, want none", got)
	}
	l[recording.CauseFull], l[recording.CauseLeftOut] = 3, 5
	if got := l.String(); got != "full 3, left-out 5" || l.Lost() != 3 {
		t.Errorf("got %q and %d lost", got, l.Lost())
	}
}
