// SPDX-License-Identifier: Apache-2.0

package objects

import (
	"testing"

	"tagbus/bus"
	"tagbus/tags"
)

// TestPost_mergesGapsAlsoWhileSomeAreTaken: a program that takes events more slowly than gaps come has no
// more of them wait than there are tags.
func TestPost_mergesGapsAlsoWhileSomeAreTaken(t *testing.T) {
	const rounds, perRound = 200, 100
	p := post{ring: func() {}, fn: 1}
	peer := &bus.Peer{}
	var items [4]Work
	var sent, told [perRound]uint64
	most := 0
	note := func(w Work) {
		if w.Event.Kind == bus.Gap {
			told[w.Event.Tag] += w.Event.Count
		}
	}
	for round := range rounds {
		for tag := range perRound {
			p.event(bus.Event{Kind: bus.Gap, Peer: peer, Tag: tags.Tag(tag), Count: uint64(tag + round), Err: bus.ErrTooSlow})
			sent[tag] += uint64(tag + round)
		}
		p.event(bus.Event{Kind: bus.Problem, Err: bus.ErrTooSlow})
		most = max(most, len(p.queue)-round)
		for _, w := range items[:p.take(items[:])] {
			note(w)
		}
	}
	if most > perRound+mergeFrom || len(p.gaps) > perRound {
		t.Errorf("got %d gaps that wait, and %d that are known, want one for each of %d tags", most, len(p.gaps), perRound)
	}
	for n := p.take(items[:]); n > 0; n = p.take(items[:]) {
		for _, w := range items[:n] {
			note(w)
		}
	}
	if told != sent || len(p.gaps) > 0 || p.events != 0 {
		t.Errorf("got %v messages of %v, %d gaps that are known, %d events", told, sent, len(p.gaps), p.events)
	}
}
