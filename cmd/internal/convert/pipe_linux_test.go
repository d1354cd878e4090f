// SPDX-License-Identifier: Apache-2.0

package convert_test

import (
	"errors"
	"testing"

	"golang.org/x/sys/unix"

	"tagbus/recording"
)

// TestAPipeIsNotWaitedFor: a FIFO without a writer held the command, and a signal did not end it.
func TestAPipeIsNotWaitedFor(t *testing.T) {
	b := newBed(t)
	must(t, unix.Mkfifo(b.path("pipe.pcap"), 0o600))
	for _, to := range [][]string{{"--to", "csv", "--out", "b.csv"}, {"--out", "b.tbr"}} {
		if r := b.run(append([]string{"pipe.pcap"}, to...)...); !errors.Is(r.err, recording.ErrNotFile) || r.status != 2 {
			t.Errorf("%v: got status %d and %v, want 2 and ErrNotFile", to, r.status, r.err)
		}
	}
}
