// SPDX-License-Identifier: Apache-2.0

package backendtest

import (
	"testing"

	"tagbus/netio"
)

func TestEachModelOfAConfigurationRunsInSomeBuild(t *testing.T) {
	for _, first := range []bool{true, false} {
		for _, model := range []netio.ThreadSafety{netio.Safe, netio.Unsafe} {
			race, plain := buildsOf(first, model)
			under, without := leftOut(race, plain, true, false), leftOut(race, plain, false, false)
			if under != "" && without != "" {
				t.Errorf("first %t, %v: left out of both: %q and %q", first, model, under, without)
			}
			if all := leftOut(race, plain, false, true); all != "" {
				t.Errorf("first %t, %v: got %q where all tests run, want nothing left out", first, model, all)
			}
		}
	}
}
