//go:build race

package bus

// raceEnabled switches off assertions on allocations, which the race detector adds to.
const raceEnabled = true
