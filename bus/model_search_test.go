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

// searches reports whether models are run for a time, and not for a number of rounds.
func searches() bool { return os.Getenv("TAGBUS_SEARCH") != "" }

// modelLength returns how many steps a program of a model has. A search has long ones, too.
func modelLength() (least, most int) {
	if searches() {
		return 20, 400
	}
	return 5, 60
}

// modelRuns yields rounds of a model: least, or as many as begin within TAGBUS_SEARCH, a
// duration (make search). It ends with the first that finds something, and logs how much
// was run.
func modelRuns(t *testing.T, least int) iter.Seq[int] {
	t.Helper()
	var limit time.Duration
	if searches() {
		var err error
		if limit, err = time.ParseDuration(os.Getenv("TAGBUS_SEARCH")); err != nil {
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
