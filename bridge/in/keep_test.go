// SPDX-License-Identifier: Apache-2.0

package in

import (
	"path/filepath"
	"runtime"
	"testing"

	"tagbus/bridge/durable"
)

// An internal test: with one processor a goroutine that is new does not run before the test waits.
func TestKeep_whatIsPublishedBeforeItsGoroutineRunsIsStored(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	path := filepath.Join(t.TempDir(), "position")
	k := keep(&placeFile{path: path}, place{Log: "log", Behind: map[string]durable.Position{}}, nil)
	k.passed("", 7)
	if err := k.close(true); err != nil {
		t.Fatal(err)
	}
	file := &placeFile{path: path}
	defer file.close()
	if p, err := file.load("log"); err != nil || p == nil || p.Behind[""] != 7 {
		t.Errorf("got %+v, %v, want position 7", p, err)
	}
}
