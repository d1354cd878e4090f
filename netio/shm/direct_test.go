// SPDX-License-Identifier: Apache-2.0

//go:build linux

package shm_test

import (
	"testing"

	"tagbus/netio"
	"tagbus/netio/shm"
)

// TestSendDirect_ofMoreThanHalfOfTheArena: such a message goes in parts, and another sender's must
// not come between them. What has no room is not begun.
func TestSendDirect_ofMoreThanHalfOfTheArena(t *testing.T) {
	const half = 8 << 10
	cfg := shm.Config{ArenaBytes: 2 * half}
	s := serve(t, cfg, netio.Params{})
	_, ep, accepted := s.dial(t, newWatcher(), cfg, netio.Params{})
	onLoop(t, s.b.Loop(), accepted.PauseReceive)
	if done := shm.PushDirect(ep, make([]byte, half)); !done {
		t.Fatal("half of an arena that is empty: got that there is no room")
	}
	if done := shm.PushDirect(ep, make([]byte, half+1<<10)); done {
		t.Fatal("more than half of an arena, which is half full: got that it was sent")
	}
	if done := shm.PushDirect(ep, []byte("another")); !done { // as another goroutine does, before the one of above
		t.Fatal("a short message: got that there is no room")
	}
	onLoop(t, s.b.Loop(), accepted.ResumeReceive)
	for _, want := range []int{half, len("another")} {
		if got := next(t, "OnData", s.Data); len(got) != want {
			t.Errorf("OnData: got %d bytes, want %d", len(got), want)
		}
	}
}
