// SPDX-License-Identifier: Apache-2.0

package site_test

import (
	"runtime"
	"testing"

	"go.uber.org/goleak"
)

// TestMain leaves the tests one processor: a step of a loop that waits for a lock would be
// charged with what others do meanwhile on its thread.
func TestMain(m *testing.M) {
	runtime.GOMAXPROCS(1)
	goleak.VerifyTestMain(m)
}
