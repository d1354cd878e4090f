//go:build !race

package publish

// raceEnabled switches off assertions on allocations, which the race detector adds to.
const raceEnabled = false
