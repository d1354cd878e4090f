// SPDX-License-Identifier: Apache-2.0

package cli_test

import (
	"testing"
	"testing/synctest"
	"time"

	"tagbus/cmd/internal/cli"
)

func TestMeter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := cli.NewMeter()
		time.Sleep(500 * time.Millisecond)
		if got := m.Rate(1000); got != 2000 {
			t.Errorf("after half a second: got %v, want 2000", got)
		}
		if got := m.Rate(2000); got != 0 {
			t.Errorf("at once: got %v, want 0", got)
		}
		time.Sleep(time.Second)
		if got := m.Rate(2000); got != 0 {
			t.Errorf("nothing new: got %v, want 0", got)
		}
		if got := cli.PerSecond(100, 2*time.Second); got != 50 {
			t.Errorf("PerSecond: got %v, want 50", got)
		}
		if got := cli.PerSecond(100, 0); got != 0 {
			t.Errorf("PerSecond of no time: got %v, want 0", got)
		}
	})
}
