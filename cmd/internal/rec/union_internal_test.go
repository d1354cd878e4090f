// SPDX-License-Identifier: Apache-2.0

package rec

import (
	"testing"

	"tagbus/bus"
	"tagbus/recording"
	"tagbus/tags"
)

var alicePeer = &bus.Peer{Instance: "AAAAAAAAAAAAAAAAAAAAAA"}

// TestUnionsCopyEachSetFewTimes: the parts that are joined are counted, and not the time.
func TestUnionsCopyEachSetFewTimes(t *testing.T) {
	const n = 20_000
	var u unions
	var want []tags.Tag
	for i := range n {
		u.add(tags.Of(tags.Tag(2 * i)))
		want = append(want, tags.Tag(2*i))
		if len(u.sets) > 16 { // each is more than twice as large as the next
			t.Fatalf("got %d sets of %d, want as many as the logarithm", len(u.sets), i)
		}
	}
	if u.parts != n || !u.all().Equal(tags.Of(want...)) {
		t.Errorf("got %d parts, want the union of all %d", u.parts, n)
	}
}

// TestComparisonsOfPresencesAreBounded: publishers that join again and again, each time with
// another tag, at two recorders.
func TestComparisonsOfPresencesAreBounded(t *testing.T) {
	p := newPresences()
	p.steps = 10_000
	for i := range 5000 {
		for recorder := range 2 {
			e := &recording.Event{Kind: recording.Joined, Peer: alicePeer, Tags: tags.Of(tags.Tag(2 * i))}
			if written := p.changes(recorder, e); !written && recorder == 0 {
				t.Fatalf("join %d is not written", i)
			}
		}
		if p.steps < 0 {
			t.Fatalf("got %d steps left", p.steps)
		}
	}
	if parts := p.of[alicePeer.Instance].joined[0].Parts(); parts > 5000 {
		t.Errorf("got %d parts", parts)
	}
}

// TestTagsOfPresencesAreBounded: what is too much to be kept is made good by no recorder, and makes
// nothing good.
func TestTagsOfPresencesAreBounded(t *testing.T) {
	const room = 100
	p := newPresences()
	p.parts = room
	change := func(recorder int, peer *bus.Peer, kind recording.EventKind, first, n int) (written bool) {
		var all []tags.Tag
		for i := range n {
			all = append(all, tags.Tag(2*(first+i)))
		}
		written = p.changes(recorder, &recording.Event{Kind: kind, Peer: peer, Tags: tags.Of(all...)})
		kept := 0
		for _, s := range p.of {
			for _, set := range s.joined {
				kept += set.Parts()
			}
		}
		if kept > room || kept+p.parts != room {
			t.Fatalf("got %d parts kept, and room for %d, want %d in all", kept, p.parts, room)
		}
		return written
	}
	bob := &bus.Peer{Instance: "BBBBBBBBBBBBBBBBBBBBBB"}
	change(0, alicePeer, recording.Joined, 0, 40)
	change(1, alicePeer, recording.Joined, 0, 40)
	if change(0, alicePeer, recording.Lost, 0, 0) {
		t.Error("a loss is written that another recorder makes good")
	}
	change(0, bob, recording.Joined, 0, 30)
	change(1, bob, recording.Joined, 0, 40) // too many
	if !change(0, bob, recording.Lost, 0, 0) {
		t.Error("a loss is made good by tags that are not kept")
	}
	change(0, bob, recording.Joined, 0, 60)
	if !change(1, bob, recording.Lost, 0, 0) {
		t.Error("the loss of tags that are not kept is made good")
	}
	change(0, bob, recording.Joined, 100, 60) // of one that is kept; with it too many
	for _, peer := range []*bus.Peer{alicePeer, bob} {
		for recorder := range 2 {
			change(recorder, peer, recording.Ended, 0, 0)
		}
	}
	if p.parts != room {
		t.Errorf("got room for %d parts at the end, want all %d", p.parts, room)
	}
	p.steps = 0
	change(0, alicePeer, recording.Joined, 0, 70) // too many steps
	change(1, alicePeer, recording.Joined, 0, 1)
	if !change(0, alicePeer, recording.Lost, 0, 0) {
		t.Error("the loss of tags that are not compared is made good")
	}
}

// TestSkippedRangesAreWalkedOnce: they are made disjoint, and in order.
func TestSkippedRangesAreWalkedOnce(t *testing.T) {
	s := series{skipped: []countersOf{{50, 60}, {1, 10}, {5, 20}, {55, 58}, {21, 22}}}
	s.joinSkipped()
	want := []countersOf{{1, 20}, {21, 22}, {50, 60}}
	if len(s.skipped) != len(want) {
		t.Fatalf("got %v, want %v", s.skipped, want)
	}
	for i := range want {
		if s.skipped[i] != want[i] {
			t.Errorf("got %v, want %v", s.skipped, want)
		}
	}
}
