// SPDX-License-Identifier: Apache-2.0

//go:build linux

package load

import (
	"path/filepath"
	"testing"

	"tagbus/bus"
	"tagbus/tags"
	"tagbus/test/faults/internal/check"
)

// TestLedger_usesSlotsAgain: publishers come and go, more than a record has slots for.
func TestLedger_usesSlotsAgain(t *testing.T) {
	l, err := newLedger(filepath.Join(t.TempDir(), "record"), 4)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 10 {
		peer := &bus.Peer{Instance: string(rune('a' + i))}
		for tag := tags.Tag(1); tag <= 4; tag++ {
			message := check.AppendMessage(nil, check.StreamOf(peer.Instance), uint64(tag), 0, 0)
			l.judge(peer, tag).Observe(message, 1)
			l.judge(peer, tag).Observe(message, 1)
		}
		l.ended(peer.Instance, i%2 == 0)
		for j := range l.slots {
			g := &l.slots[j]
			if g.Publisher.String() != peer.Instance || g.Delivered != 1 || g.Duplicated != 1 || g.Goodbye+g.Vanished != 1 {
				t.Fatalf("publisher %d: got %+v, want one message, doubled, and its end", i, *g)
			}
			g.Judged = 1
		}
	}
	if len(l.byName) != 1 || len(l.judges) != 1 {
		t.Errorf("got %d publishers and judges of %d, want one of each: the last", len(l.byName), len(l.judges))
	}
}

// TestLedger_back: a publisher that comes back has not vanished, and its streams go on, by another pointer, too.
func TestLedger_back(t *testing.T) {
	l, err := newLedger(filepath.Join(t.TempDir(), "record"), 4)
	if err != nil {
		t.Fatal(err)
	}
	for counter := range uint64(2) {
		message := check.AppendMessage(nil, check.StreamOf("a"), 1, counter, 0)
		l.judge(&bus.Peer{Instance: "a"}, 1).Observe(message, 1)
		l.ended("a", false)
		l.back("a")
	}
	if g := l.slots[0]; g.Delivered != 2 || g.Vanished != 0 || len(l.judges) != 1 {
		t.Errorf("got %+v and judges of %d publishers, want 2 messages of one that is there", g, len(l.judges))
	}
}
