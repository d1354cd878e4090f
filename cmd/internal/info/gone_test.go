// SPDX-License-Identifier: Apache-2.0

//go:build linux

package info

import (
	"testing"
	"time"

	"tagbus/bus/state"
)

func TestWhenAndWhyAPeerHasGone(t *testing.T) {
	now := time.Date(2026, 11, 23, 20, 0, 0, 0, time.UTC)
	for want, peer := range map[string]state.Peer{
		"this is what is remembered of it":                   {},
		"8s ago, in order; this is what is remembered of it": {Ended: now.Add(-8 * time.Second)},
		"2m0s ago, without goodbye: bus: raise --heartbeat-timeout\\x1b; this is what is remembered of it": {
			Ended: now.Add(-2 * time.Minute), Reason: "bus: raise HeartbeatTimeout\x1b",
		},
	} {
		if got := goneText(now, &peer); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
