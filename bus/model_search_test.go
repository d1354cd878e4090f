// SPDX-License-Identifier: Apache-2.0

package bus_test

import (
	"iter"
	"os"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// modelSteps counts the steps of the programs that the models have run.
var modelSteps, modelPrograms int

// programsOf generates the programs of a model: with few steps, most times, and now and then with
// many. A search has them alike, so that what it keeps (bus/testdata/rapid) is the same program
// in every run.
//
//   - step: draws a step.
func programsOf[S any](step func(*rapid.T) S) *rapid.Generator[[]S] {
	leasts := append(slices.Repeat([]int{5}, 19), 50)
	return rapid.Custom(func(t *rapid.T) []S {
		least := rapid.SampledFrom(leasts).Draw(t, "least steps")
		return rapid.SliceOfN(rapid.Custom(step), least, 400).Draw(t, "steps")
	})
}

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
		defer func() { t.Logf("%d steps in %d programs", modelSteps, modelPrograms) }() // a failure ends the goroutine
		began := time.Now()
		for round := 0; !t.Failed() && (round < least || time.Since(began) < limit); round++ {
			if !yield(round) {
				return
			}
		}
	}
}

// countModel notes that a program of a model runs.
func countModel(steps int) {
	modelSteps += steps
	modelPrograms++
}

// modelPool returns the size of a pool of a model. What it would not use takes a third of the time of a
// program: to make it.
//
//   - cache: messages of each tag that are kept.
func modelPool(cache int) int {
	if cache > 5 {
		return 1 << 20
	}
	return 1 << 17
}
