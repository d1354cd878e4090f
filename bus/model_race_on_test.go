// SPDX-License-Identifier: Apache-2.0

//go:build race

package bus_test

// modelRounds and senderModelRounds are how often the models take rapid's usual
// hundred cases. A race shows in almost any case of the same steps, a mistake of the
// bus in few of many: those are looked for without the race detector.
const (
	modelRounds       = 2
	senderModelRounds = 1
	manyTags          = 20_000 // of a subscription
)
