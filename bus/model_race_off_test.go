//go:build !race

package bus_test

const (
	modelRounds       = 10
	senderModelRounds = 3
)
