// SPDX-License-Identifier: Apache-2.0

//go:build !race

package bus_test

const (
	modelRounds       = 10
	senderModelRounds = 3
	manyTags          = 100_000 // of a subscription
)
