// SPDX-License-Identifier: Apache-2.0

//go:build linux

package reactor_test

import (
	"testing"

	"tagbus/netio/reactor"
)

func TestEvents_String_names(t *testing.T) {
	tests := []struct {
		name   string
		events reactor.Events
		want   string
	}{
		{"no event has a name too", 0, "none"},
		{"one event", reactor.Writable, "writable"},
		{"several events", reactor.Readable | reactor.PeerClosed | reactor.Hangup, "readable|peer closed|hangup"},
		{
			"all events", reactor.Readable | reactor.Writable | reactor.PeerClosed | reactor.Priority |
				reactor.Failed | reactor.Hangup | reactor.EdgeTriggered,
			"readable|writable|peer closed|priority|failed|hangup|edge-triggered",
		},
		{"bits without a name", reactor.Readable | 1<<30, "readable|0x40000000"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if got := test.events.String(); got != test.want {
				t.Errorf("String: got %q, want %q", got, test.want)
			}
		})
	}
}
