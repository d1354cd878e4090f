// SPDX-License-Identifier: Apache-2.0

package load_test

import (
	"bytes"
	"testing"

	"tagbus/bench/internal/load"
)

// On a machine that does other things the first round trip, which does not count, may take longer than all are to.
func TestPings_Return_oneCountsAtLeast(t *testing.T) {
	var sent []byte
	p := load.NewPings(load.Options{Size: size, Seconds: 0}, func(data []byte) { sent = bytes.Clone(data) })
	p.Start()
	trips := 1
	for !p.Return(sent) {
		trips++
	}
	if got := p.Result(); trips != 2 || got.Sent != 2 || got.Corrupt != 0 {
		t.Errorf("got %d round trips, %d sent, %d corrupt, want 2, of which one counts", trips, got.Sent, got.Corrupt)
	}
}
