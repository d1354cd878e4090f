// SPDX-License-Identifier: Apache-2.0

//go:build linux

package replay

import (
	"testing"

	"tagbus/recording"
)

// TestACauseOfANewerVersion is another one, and none of those that are known.
func TestACauseOfANewerVersion(t *testing.T) {
	var a account
	for cause, n := range map[recording.Cause]uint64{recording.CauseQueueFull: 1, recording.CauseQueueFull + 1: 2, 255: 4} {
		a.event(&recording.Event{Kind: recording.Gap, Count: n, Cause: cause})
	}
	if got, want := a.holes(), "7 messages lost (other 6, queue-full 1)"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// TestAPublisherThatCameBack is none of those whose last messages may be missing.
func TestAPublisherThatCameBack(t *testing.T) {
	var a account
	for _, e := range []recording.Event{
		{Kind: recording.Vanished, Peer: alice}, {Kind: recording.Vanished, Peer: bob}, {Kind: recording.Joined, Peer: alice}, {Kind: recording.Vanished},
	} {
		a.event(&e)
	}
	if got, want := a.holes(), "2 publishers vanished"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
