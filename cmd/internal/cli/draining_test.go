// SPDX-License-Identifier: Apache-2.0

package cli_test

import (
	"testing"

	"tagbus/bus"
	"tagbus/cmd/internal/cli"
)

// TestWhatADrainWaitsFor is named as it is: subscribers that are there come before those that are lost, and
// without both it is the directory.
func TestWhatADrainWaitsFor(t *testing.T) {
	var all []bus.SubscriberState
	for _, name := range []string{"a", "b", "c", "d", "e"} {
		all = append(all, bus.SubscriberState{Peer: bus.Peer{Name: name, Host: "h"}})
	}
	for _, test := range []struct {
		st   bus.PublisherStats
		want string
	}{
		{bus.PublisherStats{Subscribers: all[:1], Awaited: 2}, "1 subscriber to take what is left: a@h"},
		{bus.PublisherStats{Subscribers: all}, "5 subscribers to take what is left: a@h, b@h, c@h, 2 others"},
		{bus.PublisherStats{Awaited: 1, Broken: 7}, "1 lost subscriber to come back"},
		{bus.PublisherStats{Broken: 7, Unconfirmed: 7}, "the directory, to take the entry of this program out of /nfs/bus"},
	} {
		if got := cli.Draining(test.st, "/nfs/bus"); got != test.want {
			t.Errorf("got %q, want %q", got, test.want)
		}
	}
}
