//go:build !race

package bus_test

// underRace switches off assertions on the heap, to which the race detector adds.
const underRace = false
