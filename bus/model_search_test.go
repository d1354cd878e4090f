// SPDX-License-Identifier: Apache-2.0

package bus_test

import (
	"iter"
	"os"
	"testing"
	"time"
)

// modelSteps counts the steps of the programs that the models have run.
var modelSteps, modelPrograms int

// modelRuns yields rounds of a model: least, or as many as begin within TAGBUS_SEARCH, a
// duration (make search). It ends with the first that finds something, and logs how much
// was run.
func modelRuns(t *testing.T, least int) iter.Seq[int] {
	t.Helper()
	var limit time.Duration
	if text := os.Getenv("TAGBUS_SEARCH"); text != "" {
		var err error
		if limit, err = time.ParseDuration(text); err != nil {
			t.Fatalf("TAGBUS_SEARCH: %v", err)
		}
	}
	return func(yield func(int) bool) {
		modelSteps, modelPrograms = 0, 0
		began := time.Now()
		for round := 0; !t.Failed() && (round < least || time.Since(began) < limit); round++ {
			if !yield(round) {
				break
			}
		}
		t.Logf("%d steps in %d programs", modelSteps, modelPrograms)
	}
}

// countModel notes that a program of a model runs.
func countModel(steps int) {
	modelSteps += steps
	modelPrograms++
}
