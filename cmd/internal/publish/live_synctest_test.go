// SPDX-License-Identifier: Apache-2.0

package publish

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
	many := bus.PublisherStats{
		Messages: 12_345_678, Bytes: 12_345_678_901, Losses: bus.Losses{Full: 1234}, Unconfirmed: 5,
		Subscribers: make([]bus.SubscriberState, 12), PagesFree: 10, Pages: 500, MinPagesFree: 1,
	}
	tests := []struct {
		name  string
		send  bool
		stats bus.PublisherStats
		want  string
	}{
		{"no subscriber", false, bus.PublisherStats{}, "0 B/s, 0.00 /s, 0 messages, 0 lost, 0 subscribers, buffers 0 of 0 free (least 0)"},
		{"no receiver", true, bus.PublisherStats{}, "waiting 10s for receivers in /tmp/bus that have 0x0000000000000005"},
		{"much, with losses", false, many, "1.23 GB/s, 1.23 M/s, 12,345,678 messages, 1,234 lost (1,234 too slow), 5 unconfirmed, 12 subscribers, buffers 10 of 500 free (least 1)"},
		{"much, sent", true, many, "1.23 GB/s, 1.23 M/s, 12,345,678 messages, 1,234 lost (1,234 too slow), 5 unconfirmed, 12 receivers, buffers 10 of 500 free (least 1)"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := &run{flags: &Flags{Tags: tags.Of(5), Send: test.send}, started: time.Now()}
				r.flags.Bus = "/tmp/bus"
				messages, bytes := cli.NewMeter(), cli.NewMeter()
				time.Sleep(10 * time.Second)
				if got := r.liveLine(test.stats, messages, bytes); got != test.want {
					t.Errorf("got %q, want %q", got, test.want)
				}
			})
		})
	}
}
