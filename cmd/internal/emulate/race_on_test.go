//go:build race

package emulate_test

// raceEnabled switches off assertions on allocations, which the race detector adds to.
const raceEnabled = true
