// SPDX-License-Identifier: Apache-2.0

//go:build !invariants

package examples_test

import (
	"testing"

	"tagbus/netio"
)

// TestOnlyImmediateSendingCopies does what a user of Send must not do, and what
// a build with invariants reports: it changes the data before the completion.
// What arrives shows from where it was sent.
func TestOnlyImmediateSendingCopies(t *testing.T) {
	tests := []struct {
		name string
		send func(ep netio.Endpoint, data []byte) error
		want byte // of the first byte, 1 at the send and 2 after it
	}{
		{"zero-copy sends from the user's memory", func(ep netio.Endpoint, data []byte) error { return ep.Send(1, nil, data) }, 2},
		{"immediate sending from a copy of it", func(ep netio.Endpoint, data []byte) error { return ep.SendCopy(1, nil, data) }, 1},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			data := make([]byte, 10_000) // TCP copies small ones, for speed
			received, _ := exchange(netio.Params{}, func(ep netio.Endpoint) error {
				data[0] = 1
				err := test.send(ep, data)
				data[0] = 2
				return err
			}, func() {})
			if len(received) != len(data) || received[0] != test.want {
				t.Errorf("got %d bytes that begin with %d, want %d that begin with %d", len(received), received[0], len(data), test.want)
			}
		})
	}
}
