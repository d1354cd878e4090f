// SPDX-License-Identifier: Apache-2.0

package invariants_test

import (
	"testing"

	"tagbus/internal/invariants"
)

func TestChecksum(t *testing.T) {
	var c invariants.Checksum
	mem := []byte("mine until the completion")
	c.Take(mem[:3], mem[3:])
	if c.Changed(mem) {
		t.Error("Changed of the same bytes: got true, want false")
	}
	c.Take(mem)
	mem[4]++
	if got := c.Changed(mem); got != invariants.Enabled {
		t.Errorf("Changed of another byte: got %t, want %t, as the build says", got, invariants.Enabled)
	}
	if c.Changed(mem) {
		t.Error("Changed without Take: got true, want false")
	}
}
