//go:build race

package record_test

// raceEnabled switches off assertions on allocations, which the race detector adds to.
const raceEnabled = true
