// SPDX-License-Identifier: Apache-2.0

package subscribe

import (
	"testing"
	"testing/synctest"
	"time"

	"tagbus/bus"
	"tagbus/cmd/internal/cli"
	"tagbus/tags"
)

// TestTheLiveLine begins with what is most useful: a terminal of 80 columns shows 79
// characters.
func TestTheLiveLine(t *testing.T) {
	lost := bus.SubscriberStats{Publishers: 1, Messages: 12_345_678, Bytes: 12_345_678_901, Lost: 1234, Losses: bus.Losses{Full: 1234}}
	tests := []struct {
		name    string
		receive bool
		stats   bus.SubscriberStats
		want    string
	}{
		{"nothing yet", false, bus.SubscriberStats{}, "waiting 10s for publishers in /tmp/bus that have 0x0000000000000005"},
		{"no sender yet", true, bus.SubscriberStats{}, "waiting 10s for senders in /tmp/bus that send to 0x0000000000000005"},
		{"a publisher that is silent", false, bus.SubscriberStats{Publishers: 2}, "0 B/s, 0.00 /s, 0 messages, 0 lost, 2 publishers"},
		{"much, with losses", false, lost, "1.23 GB/s, 1.23 M/s, 12,345,678 messages, 1,234 lost (1,234 too slow), 1 publisher"},
		{"it has gone", true, bus.SubscriberStats{Messages: 1, Bytes: 10}, "1 B/s, 0.10 /s, 1 message, 0 lost, 0 senders"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := &run{flags: &Flags{Tags: tags.Of(5), Receive: test.receive}}
				r.flags.Bus = "/tmp/bus"
				began, messages, bytes := time.Now(), cli.NewMeter(), cli.NewMeter()
				time.Sleep(10 * time.Second)
				if got := r.liveLine(test.stats, began, messages, bytes); got != test.want {
					t.Errorf("got %q, want %q", got, test.want)
				}
			})
		})
	}
}
